"""`dataset use` of a handful of clips: training takes enough steps, and what is large enough stays as it is."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pipeline.cli import main
from pipeline.datasets.small_set import STEPS, fitting
from pipeline.params.file import load_params
from pipeline.params.train import Slots, Train

RUN = Train(model="mean_pool", features=Slots(), epochs=16, batch_size=128, learning_rate=0.002)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(0, 5), st.integers(1, 512))
def test_a_fitted_run_takes_enough_steps_and_is_left_alone_the_next_time(
    captions: list[int], per_video: int, batch: int
) -> None:
    run = RUN.model_copy(update={"captions_per_video": per_video, "batch_size": batch})
    fitted = run.model_copy(update=fitting(run, captions=captions))
    an_epoch = sum(min(each, per_video or each) for each in captions)

    assert ceil(an_epoch / fitted.batch_size) * fitted.epochs >= STEPS
    assert fitted.batch_size <= batch
    assert fitted.epochs >= run.epochs
    assert fitting(fitted, captions=captions) == {}


def test_sizes_that_were_tried() -> None:
    assert fitting(RUN, captions=[2] * 12) == {"batch_size": 4, "epochs": 67, "patience": 67}
    assert fitting(RUN, captions=[20] * 14) == {"batch_size": 32, "epochs": 45, "patience": 45}
    assert fitting(RUN, captions=[20] * 6513) == {}


def test_stages_that_follow_count() -> None:
    assert fitting(RUN.model_copy(update={"then": [{"epochs": 400}]}), captions=[2] * 12) == {}


@pytest.fixture
def clips(project: Path) -> Path:
    (project / "clips").mkdir()
    for number in range(6):
        (project / f"clips/clip{number}.mp4").touch()
    return project


def write_table(each: int) -> None:
    rows = "".join(f"clip{number}.mp4,a dog runs\n" * each for number in range(6))
    Path("captions.csv").write_text(f"video,caption\n{rows}")


def test_every_run_is_fitted_and_told_and_comments_stay(clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(each=3)
    text = Path("params.yaml").read_text()
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0
    told, params = capsys.readouterr().out, load_params()

    assert "params.yaml: settings that fit 12 training captions:" in told
    assert "train.soft_attention: batch_size 128 → 4, epochs 16 → 134, patience 5 → 134" in told
    assert {run.batch_size for run in params.train.values()} == {4}
    assert {run.learning_rate for run in params.train.values()} == {0.002}
    assert "# the same, told of motion and sound" in Path("params.yaml").read_text()
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0
    assert "settings that fit" not in capsys.readouterr().out
    assert len(Path("params.yaml").read_text().splitlines()) == len(text.splitlines()) + 6  # patience, and the subset


def test_a_schedule_of_a_smaller_set_is_told_when_the_set_has_grown(
    clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(each=3)
    main(["dataset", "use", "folder", "--videos", "clips"])
    assert "git diff" not in capsys.readouterr().out
    write_table(each=2000)
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0

    told = "train.mean_pool: batch_size 4 and epochs 134 are 268,000 steps of 8,000 captions"
    assert told in capsys.readouterr().out


def test_rare_words_are_kept_of_few_captions(clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(each=1)
    path = Path("params.yaml")
    path.write_text(path.read_text().replace("min_count: 1", "min_count: 2"))
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0

    assert load_params().assemble.min_count == 1
    assert "assemble: min_count 2 → 1" in capsys.readouterr().out


def test_many_captions_change_nothing(clips: Path) -> None:
    write_table(each=2000)
    before = load_params()
    assert main(["dataset", "use", "folder", "--videos", "clips"]) == 0

    assert load_params().model_copy(update={"dataset": before.dataset}) == before
