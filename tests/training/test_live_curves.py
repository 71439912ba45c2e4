"""Curves for viewers: the numbers of the learning curve, while it grows, and no other byte of the run."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.errors import MissingToolError
from pipeline.training.history import Epoch
from pipeline.training.live_curves import CURVES, live_curves
from tests.store.making import content
from tests.training.test_trainer import make_project

PARAMS = """
dataset: {name: demo, videos: videos, annotations: annotations.json}
extract: {}
train:
  toy:
    model: soft_attention
    features: {appearance: toy}
    options: {hidden_size: 8, word_size: 8, attention_size: 8}
    epochs: 3
"""
LINES = [Epoch(1, 2.5, 0.25), Epoch(2, 1.5, 0.75), Epoch(3, 1.0, 0.5, stage=2, reward=0.125)]


def shown_by_tensorboard(folder: Path) -> dict[str, list[tuple[int, float]]]:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulators.EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(each.step, each.value) for each in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def shown_by_dvclive(folder: Path) -> dict[str, list[tuple[int, float]]]:
    pytest.importorskip("dvclive")
    found = {}
    for path in (folder / "plots/metrics").glob("*.tsv"):
        rows = csv.DictReader(path.read_text().splitlines(), delimiter="\t")
        found[path.stem] = [(int(row["step"]), float(row[path.stem])) for row in rows]
    return found


SHOWN = {"tensorboard": shown_by_tensorboard, "dvclive": shown_by_dvclive}
EXPECTED = {
    "train_loss": [(1, 2.5), (2, 1.5), (3, 1.0)],
    "val_cider": [(1, 0.25), (2, 0.75), (3, 0.5)],
    "reward": [(3, 0.125)],
}


@pytest.mark.parametrize("viewer", [pytest.param("dvclive", marks=pytest.mark.slow), "tensorboard"])
def test_every_epoch_is_there_as_soon_as_it_ended(viewer: str, tmp_path: Path) -> None:
    pytest.importorskip(viewer)
    for _ in range(2):  # the second run replaces what the first one left
        with live_curves("toy", [viewer], folder=tmp_path) as tell:
            for count, line in enumerate(LINES, 1):
                tell(line)
                shown = SHOWN[viewer](tmp_path / "toy" / viewer)
                assert shown["train_loss"] == EXPECTED["train_loss"][:count]

    assert SHOWN[viewer](tmp_path / "toy" / viewer) == EXPECTED
    assert set(EXPECTED) == set(CURVES)


def test_no_byte_of_the_run_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for viewer in SHOWN:
        pytest.importorskip(viewer)
    runs = []
    for options in ([], ["--live", "tensorboard", "--live", "dvclive"]):
        folder = tmp_path / f"with{len(options)}"
        folder.mkdir()
        make_project(folder)
        (folder / "params.yaml").write_text(PARAMS)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        assert main(["train", "toy", "--quiet", *options]) == 0
        runs.append(content(Path("runs/toy")) | content(Path("metrics/toy")))
        assert Path("logs/live/toy").is_dir() == bool(options)

    assert runs[0] == runs[1]
    lines = list(csv.DictReader(Path("metrics/toy/curves.csv").read_text().splitlines()))
    for name in ("train_loss", "val_cider"):
        expected = [(int(line["epoch"]), pytest.approx(float(line[name]), abs=1e-6)) for line in lines]
        assert [show(Path("logs/live/toy") / viewer)[name] for viewer, show in SHOWN.items()] == [expected, expected]


@pytest.mark.parametrize(("viewer", "module"), [("dvclive", "dvclive"), ("tensorboard", "torch.utils.tensorboard")])
def test_a_missing_package_names_its_extra(viewer: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingToolError, match=r"framescribe\[live\]"), live_curves("toy", [viewer]):
        pass
