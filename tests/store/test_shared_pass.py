"""One pass over a video serves the stages that come later: counted in frames that decoders are asked for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

from pipeline.cli import main
from pipeline.core.executors import InProcess
from pipeline.extraction import extract, shared_pass
from pipeline.params.extract import Extract
from tests.store.making import QUIET, content, index_of, toy
from tests.store.test_extract import noted_frames, thirds

SOUND = {"family": "toy_sound", "network": "toy", "weights": "random", "outputs": ["loudness", "ends"]}
ENTRIES: dict[str, Extract] = {
    "few": toy(),
    "half": toy(sampling={"every": 2}, dtype="float16"),
    "clips": toy(family="toy_clips", outputs=["colour"], sampling={"window": 3, "stride": 2, "tail": "pad"}),
    "sound": Extract.model_validate(SOUND | {"sampling": {"hop": 0.5, "tail": "drop"}}),
}


@pytest.fixture(autouse=True)
def no_guests_of_before() -> None:
    shared_pass._tasks.clear()


@pytest.fixture
def index(clips: Path, tmp_path: Path) -> Path:
    return index_of(clips, tmp_path / "index")


def stage(name: str, index: Path, out: Path, others: Mapping[str, Extract] = ENTRIES) -> dict[str, Any]:
    """As `dvc repro` runs it: one entry, which knows of the others."""
    return extract.extract_features(
        {name: ENTRIES[name]},
        index=index,
        outs={name: out / name},
        executor=InProcess(2),
        device="cpu",
        console=QUIET,
        others={other: params for other, params in others.items() if other != name},
    )


def test_the_first_stage_decodes_for_all(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = noted_frames(monkeypatch)
    first = stage("few", index, tmp_path / "stages")
    frames = [6 + number % 3 for number in range(8)]  # as write_clips makes them

    assert (first["decoded"], first["computed"], sorted(asked)) == (8, 8, sorted(frames))  # the clips need all
    for name in ("half", "clips"):
        assert [stage(name, index, tmp_path / "stages")[each] for each in ("decoded", "computed")] == [0, 0]
    assert stage("sound", index, tmp_path / "stages")["computed"] == 8
    assert len(asked) == 8

    asked.clear()
    shutil.rmtree(tmp_path / "cache")
    for name in ENTRIES:
        stage(name, index, tmp_path / "alone", others={})
        assert content(tmp_path / "alone" / name) == content(tmp_path / "stages" / name)
    assert sum(asked) == sum(count + -(-count // 2) + len(thirds(count)) for count in frames)


def test_a_stage_that_lacks_nothing_decodes_for_nobody(index: Path, tmp_path: Path) -> None:
    stage("few", index, tmp_path, others={})

    assert stage("few", index, tmp_path)["decoded"] == 0
    assert stage("half", index, tmp_path)["computed"] == 8


def test_a_guest_that_cannot_be_built_is_left_to_its_own_stage(index: Path, tmp_path: Path) -> None:
    others = {"half": ENTRIES["half"], "lost": toy(weights="nowhere"), "odd": toy(family="no_such_family")}

    assert stage("few", index, tmp_path, others=others)["computed"] == 8
    assert stage("half", index, tmp_path)["computed"] == 0


def test_a_guest_that_fails_costs_its_host_nothing(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extractors import toy as family  # type: ignore[attr-defined]

    call, failed = family.Toy.__call__, []

    def fails_with_one_output(self: Any, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        if list(self.outputs) == ["colour"]:
            failed.append(1)
            raise RuntimeError("no such kernel")
        return call(self, batch)

    others = {"guest": toy(outputs=["colour"]), "half": ENTRIES["half"]}
    with monkeypatch.context() as patch:
        patch.setattr(family.Toy, "__call__", fails_with_one_output)
        summary = stage("few", index, tmp_path / "stages", others=others)

    assert (summary["videos"], summary["failed"]) == (8, 0)
    assert 1 <= len(failed) <= 2  # once by each that was in flight; then it is not asked again
    stage("few", index, tmp_path / "alone", others={})
    assert content(tmp_path / "stages/few") == content(tmp_path / "alone/few")


def test_a_guest_that_is_no_number_is_not_kept(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from extractors import toy as family  # type: ignore[attr-defined]

    def build(network: str, *, outputs: Any, weights: Any, device: str) -> Any:
        return family.Toy(outputs, brightness=float("nan") if network == "dark" else 1.0)

    monkeypatch.setattr(family, "build", build)
    summary = stage("few", index, tmp_path, others={"dark": toy(network="dark")})

    assert (summary["computed"], summary["failed"]) == (8, 0)
    assert len(list((tmp_path / "cache/features").glob("??/*"))) == 8


def test_the_stages_of_the_graph_share_their_pass() -> None:
    graph = YAML(typ="safe").load((Path(__file__).parents[2] / "dvc.yaml").read_text())["stages"]
    assert graph["extract"]["do"]["cmd"].split() == ["framescribe", "extract", "${key}", "--share-pass"]


def test_the_command_of_a_stage_knows_the_other_entries(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    index.rename(tmp_path / "data-index")
    entries = {name: ENTRIES[name].model_dump(exclude_none=True) for name in ("few", "half")}
    dataset = {"name": "demo", "videos": "videos", "annotations": "none"}
    Path("params.yaml").write_text(json.dumps({"dataset": dataset, "extract": entries, "train": {}}))
    Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
    decoded = []
    for name in entries:
        command = ["extract", name, "--share-pass", "--index", "data-index", "--profile", "one.yaml", "--json"]
        assert main(command) == 0
        decoded.append(json.loads(capsys.readouterr().out)["decoded"])
    assert decoded == [8, 0]
