"""Runs scored one after the other by one set of tools, beside a baseline; what is found is written for each.

What runs of one split share is computed once: METEOR's tables, the training captions, the scores of the baseline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pipeline.core import (
    UNGUARDED,
    Executor,
    InProcess,
    InputError,
    StageInputs,
    UsageError,
    file_sha256,
    shares,
    write_sealed_json,
)
from pipeline.corpus import LATIN, Corpus, Words, read_corpus
from pipeline.evaluation.bootstrap import intervals
from pipeline.evaluation.record import as_record, slice_scores, spice_means
from pipeline.evaluation.scorer import Scores
from pipeline.evaluation.scoring import PredictionScorer, check_ids, comparisons
from pipeline.evaluation.toolkit import MetricSettings, open_toolkit
from pipeline.metrics import WORTH
from pipeline.params import Evaluate
from pipeline.predictions import read_run_predictions

SLICE_METRICS = ("BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D", "SPICE")
CAPTIONS = Path("data/captions")
RunPredictions = dict[str, tuple[str, dict[str, str]]]  # run -> the split that it captioned, and its sentences


@dataclass(frozen=True)
class ScoredRun:
    summary: dict[str, Any]
    remarks: Sequence[str]


def score_runs(
    names: Sequence[str], *, params: Evaluate, executor: Executor, inputs: StageInputs = UNGUARDED
) -> Iterator[ScoredRun]:
    """All runs here by one set of tools; by workers, some of the runs each, where that is worth METEOR's tables."""
    work = ScoreRuns(params, inputs=inputs)
    alone = len(names) == 1 or executor.workers == 1  # then there is nothing to ask the files
    count = 1 if alone else shares(executor, min(len(names), _comparisons(*_read(names)) // WORTH))
    if count == 1:
        yield from work.scored(names, executor=executor)
        return
    for group in executor.map(replace(work, processes=1), [tuple(names[n::count]) for n in range(count)]):
        yield from group


@dataclass(frozen=True)
class ScoreRuns:
    """Work for an executor."""

    params: Evaluate
    processes: int | None = None  # of METEOR; None: as many as end soonest
    inputs: StageInputs = UNGUARDED
    takes_hours: ClassVar[bool] = True  # SPICE does

    def __call__(self, names: Sequence[str]) -> list[ScoredRun]:
        return list(self.scored(names, executor=InProcess()))

    def scored(self, names: Sequence[str], *, executor: Executor) -> Iterator[ScoredRun]:
        corpus, predictions = _read(names)
        hashes = {name: file_sha256(Path("predictions") / f"{name}.json") for name in names}
        require_tokenizer(corpus.words, self.params.tokenizer)
        settings = MetricSettings(tokenizer=self.params.tokenizer, meteor=self.params.meteor, spice=self.params.spice)
        for split, sentences in predictions.values():
            check_ids(sentences, corpus.references(split))
        many = _comparisons(corpus, predictions)
        with open_toolkit(settings, comparisons=many, processes=self.processes, executor=executor) as tools:
            scorer = PredictionScorer(tools)
            baseline = Baseline.of(tools.tokenize(corpus.sentences("train")))
            for name, (split, sentences) in predictions.items():
                references = corpus.references(split)
                scores = scorer.score(sentences, references)
                beside = scorer.score_baseline(baseline.caption, list(sentences), references)
                facts = {"split": split, "settings": self.params.model_dump(), "predictions_sha256": hashes[name]}
                record = {"baseline": vars(baseline), "provenance": scores.provenance | facts}
                numbers = _numbers(scores, beside, slices=corpus.slices, resamples=self.params.resamples)
                self.inputs.require_unchanged()
                yield _publish(name, numbers, as_record(scores, slices=corpus.slices) | record)


def require_tokenizer(words: Words, tokenizer: str) -> None:
    """The others take a Chinese sentence for one word, and its score says nothing."""
    if words != LATIN and tokenizer != words:
        raise UsageError(
            f"assemble.words is '{words}', and evaluate.tokenizer is '{tokenizer}', which is for English",
            hint=f"evaluate: {{tokenizer: {words}, meteor: false}} in params.yaml",
        )


def _read(names: Sequence[str]) -> tuple[Corpus, RunPredictions]:
    predictions = {name: read_run_predictions(Path("predictions") / f"{name}.json", run=name) for name in names}
    corpus = read_corpus(CAPTIONS)
    for name, (split, _) in predictions.items():
        if split not in corpus.splits:
            known = ", ".join(corpus.splits)
            raise InputError(f"predictions/{name}.json: there is no split '{split}'; {CAPTIONS} has: {known}")
    return corpus, predictions


def _comparisons(corpus: Corpus, predictions: RunPredictions) -> int:
    """Of a sentence with a reference, the baseline's too."""
    counts = [comparisons(corpus.references(split)) for split, _ in predictions.values()]
    return sum(counts) + max(counts)


@dataclass(frozen=True)
class Baseline:
    """The most frequent training caption, for every video."""

    caption: str
    times: int
    training_captions: int

    @classmethod
    def of(cls, captions: Sequence[str]) -> Baseline:
        return cls(*most_frequent(captions), len(captions))


def most_frequent(captions: Sequence[str]) -> tuple[str, int]:
    """The most frequent caption and its count; of equals the first in the alphabet."""
    counts = Counter(caption for caption in captions if caption)
    return min(counts.items(), key=lambda item: (-item[1], item[0]), default=("", 0))


def _numbers(scores: Scores, baseline: Scores, *, slices: Mapping[str, str], resamples: int) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "scores": scores.corpus,
        "intervals": intervals(scores.statistics, resamples=resamples),
        "most_frequent_caption": baseline.corpus,
        "videos": len(scores.per_video),
    }
    if by_slice := slice_scores(scores.statistics, slices, metrics=SLICE_METRICS):
        numbers["slices"] = by_slice
    if kinds := spice_means(scores):
        numbers["spice"] = kinds
    return numbers


def _publish(name: str, numbers: dict[str, Any], record: dict[str, Any]) -> ScoredRun:
    """Numbers go to metrics/, for `dvc metrics show`; per-video scores and provenance to evaluation/."""
    metrics, evaluation = Path("metrics") / name / "scores.json", Path("evaluation") / f"{name}.json"
    write_sealed_json(metrics, numbers)
    write_sealed_json(evaluation, record)
    summary = {"run": name, **numbers, "metrics": str(metrics), "evaluation": str(evaluation)}
    return ScoredRun(summary, record["provenance"].get("remarks", []))
