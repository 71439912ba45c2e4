"""The work of the `evaluate` stage: runs scored one after the other by one set of tools, beside a baseline.

What runs of one split share is done once: METEOR's tables, the training captions, the scores of the baseline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pipeline.core import Executor, InProcess, InputError, shares, write_json
from pipeline.data import Corpus, read_corpus
from pipeline.evaluation.bootstrap import intervals
from pipeline.evaluation.record import as_record, remarks, slice_scores, spice_means
from pipeline.evaluation.scorer import CaptionScorer, Scores
from pipeline.evaluation.scoring import check_ids, comparisons, off_by
from pipeline.evaluation.toolkit import MetricSettings, Toolkit, open_toolkit
from pipeline.metrics import WORTH
from pipeline.params import Evaluate
from pipeline.results import read_run_predictions

SLICE_METRICS = ("BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D", "SPICE")
CAPTIONS = Path("data/captions")
Said = dict[str, tuple[str, dict[str, str]]]  # run -> the split that it captioned, and its sentences


@dataclass(frozen=True)
class Scored:
    summary: dict[str, Any]
    remarks: Sequence[str]


def score_runs(names: Sequence[str], *, params: Evaluate, executor: Executor) -> Iterator[Scored]:
    """All runs here by one set of tools; by workers, some of the runs each, where that is worth METEOR's tables."""
    work = ScoreRuns(params)
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
    takes_hours: ClassVar[bool] = True  # SPICE does

    def __call__(self, names: Sequence[str]) -> list[Scored]:
        return list(self.scored(names, executor=InProcess()))

    def scored(self, names: Sequence[str], *, executor: Executor) -> Iterator[Scored]:
        corpus, said = _read(names)
        settings = MetricSettings(tokenizer=self.params.tokenizer, meteor=self.params.meteor, spice=self.params.spice)
        for split, sentences in said.values():
            check_ids(sentences, corpus.references(split))
        many = _comparisons(corpus, said)
        with open_toolkit(settings, comparisons=many, processes=self.processes, executor=executor) as tools:
            panel = Panel(tools, tools.tokenize(corpus.sentences("train")))
            for name, (split, sentences) in said.items():
                judged = panel.judge(sentences, corpus.references(split))
                yield _publish(name, judged, split=split, corpus=corpus, resamples=self.params.resamples)


def _read(names: Sequence[str]) -> tuple[Corpus, Said]:
    said = {name: read_run_predictions(Path("predictions") / f"{name}.json", run=name) for name in names}
    corpus = read_corpus(CAPTIONS)
    for name, (split, _) in said.items():
        if split not in corpus.splits:
            known = ", ".join(corpus.splits)
            raise InputError(f"predictions/{name}.json: there is no split '{split}'; {CAPTIONS} has: {known}")
    return corpus, said


def _comparisons(corpus: Corpus, said: Said) -> int:
    """Of a sentence with a reference, the baseline's too."""
    counts = [comparisons(corpus.references(split)) for split, _ in said.values()]
    return sum(counts) + max(counts)


class Judged(NamedTuple):
    ours: Scores
    baseline: Scores
    about: dict[str, Any]  # the baseline


@dataclass
class Panel:
    """One tokeniser and one set of METEOR processes serve all runs and the baseline."""

    tools: Toolkit
    training: Sequence[str]  # captions, tokenised
    _known: tuple[object, Scores] | None = field(default=None, init=False)

    def judge(self, said: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> Judged:
        together = {video: [said[video], *texts] for video, texts in references.items()}
        tokenized = self.tools.tokenize_groups(together)
        known = {video: texts[1:] for video, texts in tokenized.items()}
        scorer = CaptionScorer(known, tools=self.tools)
        ours = scorer.score({video: tokenized[video][0] for video in said})
        caption, times = most_frequent(self.training)
        baseline = self._baseline(scorer, dict.fromkeys(said, caption), known)
        facts = self.tools.provenance(references)
        if self.tools.settings.tokenizer == "python":
            facts["tokenizer_off_by"] = off_by(ours, self.tools, together, tokenized)
        if told := [*remarks(said, references), *self.tools.remarks]:
            facts["remarks"] = told
        about = {"caption": caption, "times": times, "training_captions": len(self.training)}
        return Judged(replace(ours, provenance=facts), baseline, about)

    def _baseline(self, scorer: CaptionScorer, said: dict[str, str], references: object) -> Scores:
        """Once for runs that captioned the same videos; without SPICE, which takes half an hour."""
        asked = (list(said), references)
        if self._known is None or self._known[0] != asked:
            self._known = asked, scorer.score(said, spice=False)
        return self._known[1]


def most_frequent(captions: Sequence[str]) -> tuple[str, int]:
    """The caption said most often and how often; of equals the first in the alphabet."""
    counts = Counter(caption for caption in captions if caption)
    return min(counts.items(), key=lambda item: (-item[1], item[0]), default=("", 0))


def _publish(name: str, judged: Judged, *, split: str, corpus: Corpus, resamples: int) -> Scored:
    """Numbers go to metrics/, for `dvc metrics show`; per-video scores and provenance to evaluation/."""
    ours = judged.ours
    numbers: dict[str, Any] = {
        "scores": ours.corpus,
        "intervals": intervals(ours.statistics, resamples=resamples),
        "most_frequent_caption": judged.baseline.corpus,
        "videos": len(ours.per_video),
    }
    record = as_record(ours) | {"baseline": judged.about, "provenance": ours.provenance | {"split": split}}
    labels = {video: corpus.slices[video] for video in ours.per_video if video in corpus.slices}
    if labels:
        numbers["slices"] = slice_scores(ours.statistics, labels, metrics=SLICE_METRICS)
        record["slices"] = labels
    if kinds := spice_means(ours):
        numbers["spice"] = kinds
    metrics, evaluation = Path("metrics") / name / "scores.json", Path("evaluation") / f"{name}.json"
    write_json(metrics, numbers)
    write_json(evaluation, record)
    summary = {"run": name, **numbers, "metrics": str(metrics), "evaluation": str(evaluation)}
    return Scored(summary, ours.provenance.get("remarks", []))
