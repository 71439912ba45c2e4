"""SPICE: what is read of its answer, and what is said when it cannot run. A script stands in for Java."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import MissingToolError
from pipeline.evaluation import spice
from pipeline.evaluation.record import spice_means
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.evaluation.spice import JAR, KINDS, MODELS, VARIABLE, score_spice, spice_folder
from pipeline.evaluation.toolkit import MetricSettings, Toolkit, open_toolkit
from pipeline.metrics.java import JavaError, JavaRuntime

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, FakeJava, patience

NOTHING = {"f": None, "pr": 0.0, "re": 0.0}


def answer(video: str, f: float | None, **kinds: float | None) -> dict[str, Any]:
    scores = dict.fromkeys(KINDS, NOTHING) | {kind: {"f": value} for kind, value in kinds.items()}
    return {"image_id": video, "test_tuples": [], "scores": scores | {"All": {"f": f, "pr": 0.1, "re": 0.1}}}


ANSWERS = [
    answer("1", 0.6, Object=1.0, Relation=0.5),
    answer("2", 0.3, Object=0.5, Attribute=float("nan")),
    answer("3", None),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the jar and its models would be."""
    for name in (JAR, *MODELS):
        (tmp_path / "spice" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "spice" / name).write_text(name)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "spice"))
    return tmp_path / "spice"


def answering(fake_java: FakeJava, folder: Path, answers: Any) -> JavaRuntime:
    """A program that keeps what it was asked and copies the answers to the file after `-out`."""
    (folder / "answers.json").write_text(json.dumps(answers))
    script = f"""
while [ $# -gt 0 ]; do
  case $1 in *asked.json) cp "$1" '{folder}/asked.json' ;; -out) cp '{folder}/answers.json' "$2" ;; esac; shift
done
echo 'it also talks'
"""
    return fake_java(script)


def test_scores_and_sub_scores(fake_java: FakeJava, folder: Path) -> None:
    java = answering(fake_java, folder, ANSWERS)

    each, kinds = score_spice(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, java=java, folder=spice_folder())

    assert each == {"1": 0.6, "2": 0.3, "3": 0.0}
    assert kinds["Object"] == {"1": 1.0, "2": 0.5}
    assert (kinds["Relation"], kinds["Attribute"]) == ({"1": 0.5}, {})
    asked = json.loads((folder / "asked.json").read_text())
    assert asked[2] == {"image_id": "3", "test": GOLDEN_HYPOTHESES["3"], "refs": GOLDEN_REFERENCES["3"]}


def test_it_is_one_more_metric(fake_java: FakeJava, folder: Path) -> None:
    tools = Toolkit(MetricSettings(), answering(fake_java, folder, ANSWERS), None, spice_folder())

    scores = CaptionScorer(GOLDEN_REFERENCES, tools=tools).score(GOLDEN_HYPOTHESES)

    assert scores.corpus["SPICE"] == pytest.approx(0.3)
    assert scores.statistics.corpus_scores()["SPICE"] == pytest.approx(0.3)
    assert scores.per_video["1"]["SPICE"] == 0.6
    assert spice_means(scores) == {"Object": 0.75, "Relation": 0.5}


class Backwards:
    """An executor whose last worker is the fastest; it keeps what it was given."""

    workers = 2

    def __init__(self) -> None:
        self.given: list[spice.Slice] = []

    def map(self, work: Any, items: Sequence[Any]) -> Iterator[Any]:
        self.given = [pickle.loads(pickle.dumps(item)) for item in items]  # noqa: S301 - as a worker would get it
        return reversed([work(item) for item in self.given])


def test_slices_of_the_videos_give_the_scores_of_all(
    fake_java: FakeJava, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {"java": answering(fake_java, folder, ANSWERS), "folder": spice_folder()}
    whole = score_spice(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, **place)  # type: ignore[arg-type]
    executor = Backwards()
    assert score_spice(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, executor=executor, **place) == whole  # type: ignore[arg-type]
    assert len(executor.given) == 1  # so few captions are not worth the parser's models

    monkeypatch.setattr(spice, "WORTH", 1)
    each, kinds = score_spice(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, executor=executor, **place)  # type: ignore[arg-type]

    assert [list(part.hypotheses) for part in executor.given] == [["1", "3"], ["2"]]
    assert [list(part.references) for part in executor.given] == [["1", "3"], ["2"]]
    assert (each, kinds) == whole
    assert [list(each), list(kinds["Object"])] == [["1", "2", "3"], ["1", "2"]]  # means are summed in this order


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("sleep 600", "SPICE did not answer within 1 s"),
        ("echo 'Error: Could not score' >&2", "SPICE ended without a score for each video.*Could not score"),
        ("echo 'no memory' >&2; exit 1", "SPICE ended with code 1.*no memory"),
        ("kill -9 $$", "SPICE was killed by SIGKILL"),
    ],
    ids=["hangs", "says it failed", "fails", "dies"],
)
def test_a_process_that_misbehaves(fake_java: FakeJava, folder: Path, script: str, message: str) -> None:
    with pytest.raises(JavaError, match=message):
        score_spice(
            GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, java=fake_java(script), folder=folder, timeout=patience(script)
        )


@pytest.mark.parametrize("answers", [ANSWERS[:2], [{"image_id": "1"}], {"no": "list"}, "rubbish"])
def test_an_answer_that_is_none(fake_java: FakeJava, folder: Path, answers: Any) -> None:
    java = answering(fake_java, folder, answers)

    with pytest.raises(JavaError, match="SPICE ended without a score for each video"):
        score_spice(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, java=java, folder=folder)


def test_what_is_missing_is_named_and_the_rest_is_scored(folder: Path) -> None:
    (folder / MODELS[1]).unlink()

    with pytest.raises(MissingToolError, match=r"has no lib/stanford-corenlp-3\.6\.0-models\.jar") as stop:
        spice_folder()
    assert VARIABLE in stop.value.hint
    with open_toolkit(MetricSettings(tokenizer="none", meteor=False, spice=True), comparisons=1) as tools:
        assert tools.spice is None
        assert "SPICE is left out" in tools.remarks[0]


def test_its_files_are_part_of_the_record(fake_java: FakeJava, folder: Path) -> None:
    tools = Toolkit(MetricSettings(tokenizer="none", meteor=False), fake_java(""), None, spice_folder())

    assert set(tools.provenance(GOLDEN_REFERENCES)["jars"]) == {JAR, *(Path(name).name for name in MODELS)}
