"""The runs of experiments/language on made features of MSVD's form: import, assemble, and seeds as one table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import curves, seeds
from pipeline.cli import main
from pipeline.core.console import SILENT, Console
from pipeline.params.file import load_params

COLOURS = ("red", "green", "blue")
RECIPE = Path(seeds.__file__).parent / "language/msvd.yaml"


def make_msvd(folder: Path) -> None:
    """Clips of one colour each: vid1 to vid24 train, vid1201 to vid1206 validate."""
    clips = [*range(1, 25), *range(1201, 1207)]
    feat = np.random.default_rng(0).normal(0, 0.1, (len(clips), 4, 6)).astype(np.float16)
    for row, clip in enumerate(clips):
        feat[row, :, clip % 3] += 3
    (folder / "data/msvd").mkdir(parents=True)
    np.savez(folder / "data/msvd/features.npz", ids=np.array([f"vid{clip}" for clip in clips]), feat=feat)
    for split, chosen in {"train": clips[:24], "val": clips[24:]}.items():
        lines = [f"vid{clip}\ta {COLOURS[clip % 3]} ball {verb}" for clip in chosen for verb in ("rolls", "is rolling")]
        (folder / f"data/msvd/captions_{split}.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_msvd(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    recipe = RECIPE.read_text()
    for value, small in {
        "batch_size: 64": "batch_size: 8",
        "batch_size: 128": "batch_size: 8",
        "min_count: 8": "min_count: 1",
        "epochs: 4": "epochs: 1",
        "epochs: 11": "epochs: 1",
        "epochs: 10": "epochs: 1",
        "epochs: 12": "epochs: 3",
    }.items():
        recipe = recipe.replace(value, small)
    Path("params.yaml").write_text(recipe)
    assert main(["store", "import", "data/msvd/features.npz", "vgg16", "--tensor", "pool"]) == 0
    assert main(["assemble", "--store", "features/vgg16"]) == 0
    return tmp_path


def test_seeds_of_runs_become_one_table(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["results.json", "--seeds", "0", "1", "--runs", "soft_attention_long", "--no-meteor"]
    seeds.main(arguments)
    seeds.main(["results.json", "--seeds", "1", "--runs", "self_critical", "--no-meteor"])
    results = json.loads(Path("results.json").read_text())

    assert sorted(results) == ["self_critical-1", "soft_attention_long-0", "soft_attention_long-1"]
    found = results["soft_attention_long-0"]
    assert found["captions"] == 48 * len(found["curve"])
    assert found["beam"]["videos"] == 6
    assert found["beam"]["scores"]["CIDEr-D"] > 1
    assert results["soft_attention_long-1"]["curve"] != found["curve"]
    assert len(found["beam_curve"]) == len(found["curve"])
    assert found["reward"] == []
    start = json.loads(Path("runs/self_critical-1/run.json").read_text())["params"]["start_from"]
    assert start == "soft_attention_long-1"
    assert results["self_critical-1"]["captions"] == 24 * 5
    assert results["self_critical-1"]["reward"][0] > 0

    members = ["soft_attention_long-0", "soft_attention_long-1"]  # seeds speak as one, though params.yaml has neither
    assert main(["caption", *members]) == 0
    said = json.loads(Path(f"predictions/{'+'.join(members)}.json").read_text())
    assert len(said["predictions"]) == 6

    before = Path("results.json").read_bytes()
    seeds.main(arguments)  # nothing left to do
    assert Path("results.json").read_bytes() == before
    assert "captions/s" in capsys.readouterr().out


def test_a_run_that_was_stopped_is_timed_by_what_it_did_since(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["results.json", "--seeds", "0", "--runs", "soft_attention_long", "--no-meteor"]
    with monkeypatch.context() as patch:
        patch.setattr(seeds.Watched, "advance", stop_after_an_epoch)
        with pytest.raises(KeyboardInterrupt):
            seeds.main(arguments)

    seeds.main(arguments)

    found = json.loads(Path("results.json").read_text())["soft_attention_long-0"]
    assert (found["captions"], found["timed_captions"]) == (48 * len(found["curve"]), 48 * (len(found["curve"]) - 1))
    assert [score is None for score in found["beam_curve"]] == [True] + [False] * (len(found["curve"]) - 1)


def stop_after_an_epoch(watched: seeds.Watched, steps: int = 1, note: str = "") -> None:
    if note and steps:
        raise KeyboardInterrupt


def test_other_decodings_are_scored_beside_the_beam_without_training_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["results.json", "--seeds", "0", "--runs", "soft_attention_long", "--no-meteor"]
    seeds.main(arguments)
    before = json.loads(Path("results.json").read_text())["soft_attention_long-0"]

    assert seeds.main([*arguments, "--decodings", "consensus", "words"]) == 0

    found = json.loads(Path("results.json").read_text())["soft_attention_long-0"]
    assert {key: found[key] for key in before} == before
    assert found["words"]["scores"]["CIDEr-D"] > 1
    assert found["consensus"]["videos"] == 6
    assert "words" in [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert seeds.main([*arguments, "--decodings", "nothing"]) == 2


def test_notes_within_an_epoch_score_nothing() -> None:
    scored: list[float] = []

    def score() -> float:
        scored.append(0.5)
        return 0.5

    watched = seeds.Watched(SILENT, score)
    watched.advance(2)
    watched.advance(0, note="epoch 3: 1/75")
    watched.advance(1, note="loss 1.0")

    assert (watched.scores, len(scored), watched.earlier) == ([None, None, 0.5], 1, 2)


def test_what_is_not_there_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert seeds.main(["results.json", "--runs", "nobody"]) == 2
    assert "seeds: there is no run 'nobody' in params.yaml; it has: " in capsys.readouterr().err

    Path("results.json").write_text(json.dumps({"a-0": {"curve": [[1, 3.0, 0.2]]}}))
    with pytest.raises(SystemExit):
        curves.main(["results.json", "curves.svg", "b"])
    assert "results.json has no run b; it has: a" in capsys.readouterr().err


def test_a_search_of_some_thousandths_of_a_second_has_a_speed() -> None:
    _, seconds = seeds.timed(lambda: sum(range(100_000)))
    assert all(value > 0 for value in seconds.values())


def test_curves_are_means_over_the_seeds(tmp_path: Path) -> None:
    first, second = [[1, 3.0, 0.2], [1, 2.0, 0.6]], [[1, 3.0, 0.4], [2, 2.0, 0.8]]
    results = {"a-0": {"curve": first}, "a-1": {"curve": second}, "b_<c>-0": {"curve": first, "start_from": "a-0"}}
    (tmp_path / "results.json").write_text(json.dumps(results))
    curves.main([str(tmp_path / "results.json"), str(tmp_path / "curves.svg")])
    drawn = (tmp_path / "curves.svg").read_text()

    assert curves.mean_curves(results)["a"] == [(1, pytest.approx(0.3)), (2, pytest.approx(0.7))]
    assert [epoch for epoch, _ in curves.mean_curves(results)["b_<c>"]] == [3, 4]
    assert drawn.count("<polyline") == 2
    assert ">b_&lt;c&gt;</text>" in drawn

    curves.main([str(tmp_path / "results.json"), str(tmp_path / "one.svg"), "a"])
    assert (tmp_path / "one.svg").read_text().count("<polyline") == 1


@pytest.mark.slow
def test_every_run_of_the_recipe_can_be_trained(project: Path) -> None:
    runs = [name for name, run in load_params().train.items() if not run.start_from and name != "soft_attention"]
    seeds.main(["results.json", "--seeds", "0", "--no-meteor", "--runs", *runs])

    assert json.loads(Path("results.json").read_text()).keys() == {f"{run}-0" for run in runs}


def test_a_run_that_is_trained_but_not_scored_yet_is_left_out_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {"processor_seconds": 2.0}
    scored = {
        "beam": {"scores": {"CIDEr-D": 0.5}, "videos": 6, "search": seconds, "distinct": 4},
        "greedy": {"scores": {"CIDEr-D": 0.4}},
        "captions": 48,
        "training": seconds,
    }
    seeds.show({"a-0": {"training": {}}, "b-0": scored}, Console())

    _, row = capsys.readouterr().out.splitlines()
    assert row.split() == ["b", "1", "50.0", "±", "0.0", "40.0", "±", "0.0", "4", "24", "3"]
