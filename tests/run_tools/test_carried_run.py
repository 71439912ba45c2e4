"""`framescribe runs export` and a machine that has nothing but the file: docs/carry-a-run-away.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import framescribe
from pipeline.cli import main
from pipeline.core import read_sealed_json, write_sealed_json
from pipeline.run_tools.carried_weights import weights_facts, why_not_packed
from tests.remote.conftest import bucket, server, upload  # noqa: F401 - fixtures

COMMAND = Path(sys.executable).with_name("framescribe")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("workers", [["--workers", "1"], pytest.param(["--workers", "2"], marks=pytest.mark.slow)])
def test_another_machine_says_the_same(trained: Path, elsewhere: Path, workers: list[str]) -> None:
    """A process of its own in an empty folder, without a home, a cache or a variable of ours."""
    shutil.copy(trained / "exported/whole.run", "mine.run")
    (elsewhere / "home").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FRAMESCRIBE_")}
    environment |= {"HOME": str(elsewhere / "home"), "FRAMESCRIBE_CACHE": str(elsewhere / "cache")}
    environment |= {"PYTHONPATH": str(ROOT)}

    said = subprocess.run(
        [COMMAND, "caption", "clip.mp4", "--run", "mine.run", "--out", "said.json", "--html", "page.html", *workers],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )

    assert said.returncode == 0, said.stderr
    ours = read_sealed_json(trained / "said.json", hint="")["predictions"]["green"]
    theirs = read_sealed_json(Path("said.json"), hint="")
    assert theirs == {"run": "run", "predictions": {"clip": ours}}  # to the last bit
    assert ours["caption"] in said.stdout
    assert "Trained on folder: it knows 8 words" in said.stdout
    assert Path("page.html").is_file()
    written = {"said.json", "page.html", "cache"}
    assert {path.name for path in elsewhere.iterdir()} == {"clip.mp4", "mine.run", "home"} | written


def test_a_folder_of_clips_gets_the_same_sentences_from_either(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = [said(run, capsys) for run in ("run", "exported/whole.run")]

    assert sentences[0] == sentences[1]


def test_python_captions_by_the_file_too(trained: Path, elsewhere: Path, tmp_path: Path) -> None:
    run = framescribe.open_run(trained / "exported/whole.run")
    theirs = run.caption("clip.mp4")
    ours = read_sealed_json(trained / "said.json", hint="")["predictions"]["green"]

    assert (theirs.caption, theirs.log_prob) == (ours["caption"], ours["log_prob"])
    assert Path.cwd() == elsewhere
    with pytest.raises(framescribe.FramescribeError, match=r"there is no '.*/nosuch\.mp4'"):
        run.caption("nosuch.mp4")
    with pytest.raises(framescribe.FramescribeError, match="does not bring these weights"):
        framescribe.open_run(trained / "exported/bare.run").caption("clip.mp4")
    Path("foreign.run").write_bytes(b"foreign")
    with pytest.raises(framescribe.FramescribeError, match=r"foreign\.run is no file that"):
        framescribe.open_run("foreign.run")


def test_a_video_of_an_object_store(
    trained: Path,
    elsewhere: Path,
    bucket: str,  # noqa: F811 - pytest's way
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Over a real socket: the command and Python say of its URL what they say of the clip, and leave no copy."""
    upload(trained / "videos", f"{bucket}/clips")
    run, url = trained / "exported/whole.run", f"{bucket}/clips/green.mp4"
    ours = read_sealed_json(trained / "said.json", hint="")["predictions"]["green"]

    assert main(["caption", url, "--run", str(run), "--out", "said.json", "--quiet"]) == 0
    assert read_sealed_json(Path("said.json"), hint="")["predictions"] == {"green": ours}
    theirs = framescribe.open_run(run).caption(url)
    assert (theirs.caption, theirs.log_prob) == (ours["caption"], ours["log_prob"])
    assert [path.name for path in elsewhere.rglob("*.mp4")] == ["clip.mp4"]

    capsys.readouterr()
    assert main(["caption", f"{bucket}/clips/nosuch.mp4", "--run", str(run)]) == 3
    assert f"there is nothing at {bucket}/clips/nosuch.mp4" in capsys.readouterr().err
    assert main(["caption", "https://example.org/clip.mp4", "--run", str(run)]) == 2
    assert "https:// is no place that is known" in capsys.readouterr().err


def test_a_transformer_is_carried_away_too(trained: Path, elsewhere: Path) -> None:
    run = ["--run", str(trained / "exported/words_at_once.run"), "--out", "said.json", "--quiet"]
    assert main(["caption", "clip.mp4", *run]) == 0
    theirs = read_sealed_json(Path("said.json"), hint="")["predictions"]["clip"]

    os.chdir(trained)
    ours = framescribe.open_run("runs/words_at_once").caption("videos/green.mp4")

    assert (theirs["caption"], theirs["log_prob"]) == (ours.caption, ours.log_prob)
    assert set(ours.attention) >= {"time", "slot"}


def said(run: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["caption", "videos", "--run", run, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["captions"]


def test_the_same_run_is_the_same_bytes(project: Path, tmp_path: Path) -> None:
    for number in range(2):
        assert main(["runs", "export", "run", str(tmp_path / "again.run"), "--weights", "--quiet"]) == 0, number

    assert (tmp_path / "again.run").read_bytes() == Path("exported/whole.run").read_bytes()


def test_what_is_lacking_is_told_and_taken_from_the_folder(
    trained: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = str(trained / "exported/bare.run")

    assert main(["caption", "clip.mp4", "--run", bare]) == 4
    told = capsys.readouterr().err
    assert "mine: yours, for torchvision:squeezenet1_1" in told
    assert "copy weights/mine.safetensors from where the run was trained" in told
    assert "framescribe runs export run FILE --weights" in told
    (elsewhere / "weights").mkdir()
    shutil.copy(trained / "weights/mine.safetensors", "weights")
    assert main(["caption", "clip.mp4", "--run", bare, "--quiet"]) == 0


def test_other_weights_of_that_name_are_refused(
    trained: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "weights").mkdir()
    (elsewhere / "weights/mine.safetensors").write_bytes(b"others")

    assert main(["caption", "clip.mp4", "--run", str(trained / "exported/bare.run")]) == 3
    assert "the run's features were made with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "why"),
    [("mobilenet_v2", ""), ("i3d_rgb", ""), ("yolo_regions", ""), ("spynet", "passed on"), ("c3d", "commercial")],
)
def test_only_what_may_be_passed_on_is_packed(name: str, why: str) -> None:
    refused = why_not_packed(weights_facts(name, sha256="0" * 64))

    assert (why in refused) if why else not refused


def test_weights_with_a_licence_that_nobody_knows_are_kept_back() -> None:
    assert why_not_packed({"licence": "MIT, unknown", "conditions": ""})


def test_the_card(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", "exported/whole.run"]) == 0
    card = capsys.readouterr().out

    assert "# run: sentences for videos" in card
    assert "The data set `folder`, its split `standard`; 30 epochs" in card
    assert "| train | 3 | 6 |" in card
    scores = read_sealed_json(Path("metrics/run/scores.json"), hint="")["scores"]
    assert f"| CIDEr-D | {scores['CIDEr-D']:.4f} | - |" in card
    assert "Of 3 videos of the split `test`, by the tokenizer `python`" in card
    assert "| `mine` | yours, for torchvision:squeezenet1_1" in card
    assert "| in this file |" in card
    assert "untrained" not in card


def test_the_card_of_untrained_features_says_so(project: Path, tmp_path: Path) -> None:
    assert main(["runs", "show", "exported/raw.run", "--out", str(tmp_path / "card.md"), "--quiet"]) == 0
    card = (tmp_path / "card.md").read_text()

    assert "**untrained**: random weights" in card
    assert "Its extractors read no others" in card
    assert "Not evaluated since it was trained (`dvc repro evaluate@raw`)" in card


def test_intervals_and_scores_of_another_training(project: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in map(Path, ("metrics/run/scores.json", "predictions/run.json"))}
    numbers = read_sealed_json(Path("metrics/run/scores.json"), hint="")
    try:
        write_sealed_json(
            Path("metrics/run/scores.json"), numbers | {"videos": 20, "intervals": {"CIDEr-D": [0.25, 0.5]}}
        )
        assert "| 0.2500 to 0.5000 |" in card_of("run", tmp_path)
        write_sealed_json(Path("predictions/run.json"), {"others": "of a later training"})
        assert "Not evaluated since it was trained" in card_of("run", tmp_path)
    finally:
        for path, data in before.items():
            path.write_bytes(data)


def card_of(run: str, folder: Path) -> str:
    assert main(["runs", "export", run, str(folder / "file.run"), "--quiet"]) == 0
    assert main(["runs", "show", str(folder / "file.run"), "--out", str(folder / "card.md"), "--quiet"]) == 0
    return (folder / "card.md").read_text()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"fingerprint": {"imported": True}}, "imported features (own), which nothing here can make of a video"),
        ({"slot": "label"}, "reads the class that the data set gives each video"),
    ],
)
def test_a_run_that_could_caption_no_video_is_not_exported(
    project: Path, tmp_path: Path, change: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = Path("runs/run/run.json")
    before = record.read_bytes()
    facts = read_sealed_json(record, hint="")
    (name,) = facts["features"]
    facts["features"][name] |= change
    try:
        write_sealed_json(record, facts)
        assert main(["runs", "export", "run", str(tmp_path / "file.run")]) == 2
    finally:
        record.write_bytes(before)
    assert told in capsys.readouterr().err
    assert not (tmp_path / "file.run").exists()


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ({"caption": {"search": "consensus"}}, 2, "consensus, which reads the training captions"),
        ({"sampling": {"count": 5}}, 3, "sampling.count 2 -> 5"),
        ({"weights": "random"}, 3, "its entry says random"),
    ],
)
def test_params_that_would_say_something_else_are_told(
    project: Path, tmp_path: Path, change: dict[str, Any], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("params.yaml").read_text()
    values = json.loads(before)
    values |= {key: value for key, value in change.items() if key in values}
    values["extract"]["own"] |= {key: value for key, value in change.items() if key not in values}
    try:
        Path("params.yaml").write_text(json.dumps(values))
        assert main(["runs", "export", "run", str(tmp_path / "file.run")]) == code
    finally:
        Path("params.yaml").write_text(before)
    assert told in capsys.readouterr().err


def test_a_file_of_another_kind_is_not_replaced(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "export", "run", "videos/red.mp4"]) == 3
    assert "is there already and is no run that was exported" in capsys.readouterr().err
    assert main(["runs", "export", "run", "weights/mine.safetensors"]) == 3


def test_a_file_that_is_not_there_is_told(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caption", "clip.mp4", "--run", "nosuch.run"]) == 2
    assert "there is no file 'nosuch.run', and params.yaml is not here" in capsys.readouterr().err
