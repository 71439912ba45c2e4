"""Several runs scored together, here or by workers: to the last bit the numbers of each scored alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core.atomic import write_bytes
from pipeline.core.console import Console
from pipeline.core.executors import HERE, Executor, InProcess, LocalProcesses, shares
from pipeline.core.hashing import SEAL, sealed
from pipeline.core.sealed_file import JSON_START, write_sealed_json
from pipeline.evaluation import evaluate, run_scores
from pipeline.evaluation.run_scores import score_runs
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.metrics.java import VARIABLE
from pipeline.metrics.meteor import WORTH
from pipeline.params.file import load_params

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES

SAID = {
    "lstm": GOLDEN_HYPOTHESES,
    "other": {"1": "a man plays", "2": "two dogs run in the snow", "3": "dogs, and a cat"},
    "third": {"3": "two dogs are running", "2": "a red tomato", "1": "guitar"},  # the videos in another order
}
TRAINING = {"t1": ["A dog.", "two cats"], "t2": ["a dog!", "a bird"]}
PARAMS = "dataset: {name: demo, videos: v, annotations: a}\nextract: {}\ntrain: {}\nevaluate: "
WITHOUT_JAVA = "{meteor: false, tokenizer: python}\n"
QUIET = Console(quiet=True)


def make_predictions(folder: Path, *, meteor: bool) -> None:
    (folder / "params.yaml").write_text(PARAMS + ("{}\n" if meteor else WITHOUT_JAVA))
    splits = {"train": list(TRAINING), "val": [], "test": list(GOLDEN_REFERENCES)}
    corpus = {"splits": splits, "captions": TRAINING | GOLDEN_REFERENCES, "slices": {"1": "sound", "2": "order"}}
    write_sealed_json(folder / "data/captions/captions.json", corpus)
    for name, said in SAID.items():
        predictions = {video: {"caption": text, "log_prob": -1.0} for video, text in said.items()}
        record = {"run": name, "split": "test", "predictions": predictions}
        write_in_this_order(folder / f"predictions/{name}.json", record)


def write_in_this_order(path: Path, record: dict[str, Any]) -> None:
    """Our own files are sorted; these are not."""
    data = JSON_START + SEAL + b'"],' + json.dumps(record).removeprefix("{").encode()
    write_bytes(path, sealed(data, at=len(JSON_START)))


def scored(executor: Executor, *groups: list[str]) -> dict[str, bytes]:
    """What is written about the runs, scored group after group; nothing of it stays."""
    for names in groups:
        summaries = evaluate.evaluate_runs(names, params=load_params(), executor=executor, console=QUIET)
        assert list(summaries) == names
    paths = [*Path("evaluation").glob("*.json"), *Path("metrics").glob("*/scores.json")]
    found = {str(path): path.read_bytes() for path in paths}
    for path in paths:
        path.unlink()
    return found


@pytest.mark.parametrize("meteor", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_runs_scored_together_have_the_numbers_of_each_alone(
    meteor: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if not meteor:
        monkeypatch.setenv(VARIABLE, "none")
    make_predictions(tmp_path, meteor=meteor)
    alone = scored(HERE, *([name] for name in SAID))
    assert len(alone) == 2 * len(SAID)

    assert scored(HERE, list(SAID)) == alone
    monkeypatch.setattr(run_scores, "WORTH", 1)
    assert scored(LocalProcesses(2), list(SAID)) == alone


def test_what_runs_share_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One set of tools, and one scoring of the baseline for the runs that captioned the same videos in one order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "none")
    make_predictions(tmp_path, meteor=False)
    opened, judged = [], []
    open_toolkit, score = run_scores.open_toolkit, CaptionScorer.score
    monkeypatch.setattr(run_scores, "open_toolkit", lambda *args, **kw: opened.append(kw) or open_toolkit(*args, **kw))
    monkeypatch.setattr(CaptionScorer, "score", lambda self, said, **kw: judged.append(said) or score(self, said, **kw))

    found = list(score_runs(["lstm", "other", "third"], params=load_params().evaluate, executor=HERE))

    assert [each.summary["run"] for each in found] == ["lstm", "other", "third"]
    assert [each["comparisons"] for each in opened] == [9 * 4]
    assert [set(each.values()) == {"a dog"} for each in judged] == [False, True, False, False, True]


def test_work_is_cut_only_where_that_pays() -> None:
    assert shares(InProcess(), 100) == 1
    assert shares(LocalProcesses(4), 0) == 1
    assert shares(LocalProcesses(4), 3) == 3
    assert shares(LocalProcesses(4), 100) == 4


def test_a_cluster_is_not_started_for_what_one_process_does_sooner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "none")
    make_predictions(tmp_path, meteor=False)
    monkeypatch.setattr(LocalProcesses, "map", lambda *_: pytest.fail("a worker was started"))
    assert run_scores._comparisons(*run_scores._read(list(SAID))) < WORTH
    assert len(list(score_runs(list(SAID), params=load_params().evaluate, executor=LocalProcesses(2)))) == len(SAID)


def test_a_split_that_is_not_there_is_named_before_anything_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "none")
    make_predictions(tmp_path, meteor=False)
    path = Path("predictions/other.json")
    write_sealed_json(path, json.loads(path.read_text()) | {"split": "holdout"})

    assert main(["evaluate", "lstm", "other"]) == 3

    assert "there is no split 'holdout'" in capsys.readouterr().err
    assert not Path("metrics").exists()
