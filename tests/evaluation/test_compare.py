"""`framescribe compare`: runs, files of scores, files of predictions, seeds; and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core.metric_names import FEWEST_VIDEOS
from pipeline.core.sealed_file import write_sealed_json
from pipeline.evaluation.bootstrap import intervals
from pipeline.evaluation.record import as_record
from pipeline.evaluation.scoring import score
from pipeline.runs.seed_groups import common_name, groups_of_seeds, siblings

PLACES = ("park", "street", "house", "river", "forest")
VIDEOS = [f"v{number}" for number in range(40)]
REFERENCES = {
    video: [f"a dog runs in the {PLACES[n % 5]} {n}", f"the dog is running near a {PLACES[n % 5]}"]
    for n, video in enumerate(VIDEOS)
}
GOOD = {video: texts[0] for video, texts in REFERENCES.items()}
BAD = {video: f"a dog runs in the {PLACES[n % 4]}" for n, video in enumerate(VIDEOS)}
WORST = dict.fromkeys(VIDEOS, "a man sings")
SLICES = {video: "even" if n % 2 == 0 else "odd" for n, video in enumerate(VIDEOS)}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, value: Any) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(value))


def write_ours(path: str, value: dict[str, Any]) -> None:
    write_sealed_json(Path(path), value)


def evaluated(name: str, said: dict[str, str], *, references: dict[str, list[str]] = REFERENCES) -> None:
    scores = score(said, references, meteor=False, tokenizer="none")
    write_ours(f"evaluation/{name}.json", as_record(scores) | {"slices": SLICES})


def trained(name: str, **params: Any) -> None:
    write_ours(f"runs/{name}/run.json", {"params": {"model": "lstm", "seed": 0, **params}, "features": {}})


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["compare", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_two_runs_in_a_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    evaluated("bad", BAD)
    evaluated("good", GOOD)

    assert main(["compare", "bad", "good", "--out", "out/compared.json"]) == 0
    printed = capsys.readouterr().out
    found = json.loads(Path("out/compared.json").read_text())

    assert "40 videos" in printed
    assert "CIDEr-D by slice" in printed
    assert "odd (20)" in printed
    cider = found["metrics"]["CIDEr-D"]
    assert cider["difference"] == pytest.approx(cider["second"] - cider["first"])
    assert cider["interval"][0] > 0
    assert cider["p_bootstrap"] < 0.01
    assert cider["p_permutation"] < 0.01
    assert set(found["slices"]) == {"even", "odd"}
    assert found["runs"] == [["bad"], ["good"]]
    assert compared(capsys, "bad", "good") == found


def test_the_other_way_round_is_the_opposite(capsys: pytest.CaptureFixture[str]) -> None:
    evaluated("bad", BAD)
    evaluated("good", GOOD)

    one, other = compared(capsys, "bad", "good"), compared(capsys, "good", "bad")

    for name, found in one["metrics"].items():
        assert found["difference"] == pytest.approx(-other["metrics"][name]["difference"])
        assert found["interval"] == pytest.approx([-edge for edge in reversed(other["metrics"][name]["interval"])])
        assert found["p_permutation"] == other["metrics"][name]["p_permutation"]


def test_predictions_files_are_scored_first(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.json", BAD)
    write("b.json", [{"image_id": video, "caption": text} for video, text in GOOD.items()])
    write("known.json", REFERENCES)
    evaluated("bad", BAD)
    evaluated("good", GOOD)

    found = compared(capsys, "a.json", "b.json", "--references", "known.json", "--no-meteor")

    assert found["metrics"] == compared(capsys, "bad", "good")["metrics"]
    assert found["runs"] == [["a"], ["b"]]
    assert main(["compare", "a.json", "b.json"]) == 2
    assert "a.json holds predictions, not scores\n  next: give their references" in capsys.readouterr().err


def test_what_evaluate_wrote_about_files_can_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    write("known.json", REFERENCES)
    for name, said in (("a", BAD), ("b", GOOD)):
        write(f"{name}.json", said)
        files = ["--predictions", f"{name}.json", "--references", "known.json", "--out", f"{name}-scores.json"]
        assert main(["evaluate", *files, "--no-meteor", "--tokenizer", "none", "--quiet"]) == 0

    assert compared(capsys, "a-scores.json", "b-scores.json")["metrics"]["CIDEr-D"]["difference"] > 0


def test_a_run_stands_for_its_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    for seed, said in ((0, BAD), (1, WORST)):
        trained(f"lstm_{seed}", seed=seed)
        evaluated(f"lstm_{seed}", said)
    for seed in (0, 1):
        trained(f"gru_{seed}", seed=seed, model="gru")
        evaluated(f"gru_{seed}", GOOD)

    assert main(["compare", "lstm_0", "gru_1", "--seeds"]) == 0
    assert "lstm (2 seeds)" in capsys.readouterr().out
    found = compared(capsys, "lstm_0", "gru_1", "--seeds")
    cider = found["metrics"]["CIDEr-D"]
    assert found["runs"] == [["lstm_0", "lstm_1"], ["gru_0", "gru_1"]]
    assert cider["spread"][0] > 0
    assert cider["spread"][1] == 0


def test_a_run_without_siblings_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    trained("lstm")
    evaluated("lstm", GOOD)

    assert main(["compare", "lstm", "lstm", "--seeds"]) == 2
    assert "no run differs from 'lstm' only by its seed" in capsys.readouterr().err


def test_groups_are_of_runs_that_differ_by_seed_alone() -> None:
    for name, params in {
        "a0": {},
        "a1": {"seed": 1},
        "b": {"seed": 2, "epochs": 9},
        "a2": {"seed": 2},
    }.items():
        trained(name, **params)
    records = {name: json.loads(Path(f"runs/{name}/run.json").read_text()) for name in ("a0", "a1", "a2", "b")}

    assert groups_of_seeds(records) == [["a0", "a1", "a2"]]
    assert siblings("a1") == ["a0", "a1", "a2"]
    assert siblings("b") == ["b"]
    assert siblings("unknown") == ["unknown"]
    assert groups_of_seeds({"x": {}, "y": {}}) == []  # a run without a record is like no other


def test_a_group_is_called_by_what_its_names_share() -> None:
    assert common_name(["lstm_0", "lstm_1"]) == "lstm"
    assert common_name(["lstm_seed1", "lstm_seed12"]) == "lstm"
    assert common_name(["lstm", "lstm_2"]) == "lstm"
    assert common_name(["first", "second"]) == "first"


@pytest.mark.parametrize(
    ("name", "said", "references", "message"),
    [
        (
            "fewer",
            dict(list(GOOD.items())[:30]),
            dict(list(REFERENCES.items())[:30]),
            "different videos: v30, v31, v32",
        ),
        ("other", GOOD, REFERENCES | {"v0": ["a cat"]}, "scored with different references_sha256"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    capsys: pytest.CaptureFixture[str], name: str, said: Any, references: Any, message: str
) -> None:
    evaluated("good", GOOD)
    evaluated(name, said, references=references)

    assert main(["compare", "good", name]) == 3
    assert message in capsys.readouterr().err


def test_another_jar_is_refused_but_one_more_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    evaluated("good", GOOD)
    record = json.loads(Path("evaluation/good.json").read_text())
    for name, jars in (("a", {"ptb.jar": "1"}), ("b", {"ptb.jar": "2"}), ("more", {"ptb.jar": "1", "meteor.jar": "3"})):
        write_ours(f"evaluation/{name}.json", record | {"provenance": record["provenance"] | {"jars": jars}})

    assert main(["compare", "a", "more"]) == 0
    assert main(["compare", "a", "b"]) == 3
    assert "a and b were scored with different ptb.jar: 1 and 2" in capsys.readouterr().err


def test_scores_that_are_missing_or_old_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    evaluated("good", GOOD)
    assert main(["compare", "good", "nobody"]) == 3
    assert "evaluation/nobody.json does not exist\n  next: `framescribe evaluate nobody`" in capsys.readouterr().err

    write_ours("evaluation/old.json", {"per_video": {"v0": {"CIDEr-D": 1.0}}, "provenance": {}})
    assert main(["compare", "good", "old"]) == 3
    assert "has no per-video counts" in capsys.readouterr().err
    assert main(["compare", "good", "good", "--resamples", "0"]) == 2


@pytest.mark.parametrize(("count", "winner"), [(FEWEST_VIDEOS - 1, None), (FEWEST_VIDEOS, "good")])
def test_few_videos_have_no_winner(capsys: pytest.CaptureFixture[str], count: int, winner: str | None) -> None:
    few = {video: REFERENCES[video] for video in VIDEOS[:count]}
    evaluated("bad", {video: WORST[video] for video in few}, references=few)
    evaluated("good", {video: GOOD[video] for video in few}, references=few)

    assert main(["compare", "bad", "good"]) == 0
    printed = capsys.readouterr().out
    found = compared(capsys, "bad", "good")

    assert found["winner"] == winner
    assert (f"nothing can be told from {count} videos" in printed) == (winner is None)
    assert found["verdict"] in printed
    cider = next(line for line in printed.splitlines() if line.strip().startswith("CIDEr-D "))
    assert (" to +" in cider) == (winner is not None)
    measured = [found["metrics"]["CIDEr-D"][key] for key in ("interval", "p_bootstrap", "p_permutation")]
    assert (measured == [None, None, None]) == (winner is None)
    slices = [
        one[key] for each in found["slices"].values() for one in each.values() for key in ("interval", "p_bootstrap")
    ]
    assert slices
    assert not any(slices)  # nine or ten videos each


def test_a_difference_of_nothing_has_no_winner(capsys: pytest.CaptureFixture[str]) -> None:
    evaluated("good", GOOD)
    evaluated("same", GOOD)

    assert compared(capsys, "good", "same")["winner"] is None


def test_few_videos_have_no_intervals() -> None:
    scores = score(GOOD, REFERENCES, meteor=False, tokenizer="none")

    assert intervals(scores.statistics.subset(VIDEOS[: FEWEST_VIDEOS - 1]), resamples=10) == {}
    assert "CIDEr-D" in intervals(scores.statistics.subset(VIDEOS[:FEWEST_VIDEOS]), resamples=10)
