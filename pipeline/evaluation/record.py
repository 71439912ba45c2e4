"""The evaluation of a set of predictions as a record that can be written, read again and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import ORDER, InputError, named, read_sealed_json
from pipeline.evaluation.scorer import Scores
from pipeline.evaluation.statistics import Statistics
from pipeline.predictions import evaluate_command, parse_name

EVALUATIONS = Path("evaluation")  # of runs
SUMMED = ("BLEU", "METEOR")  # metrics of a corpus that are not means over its videos


@dataclass(frozen=True)
class Evaluation:
    """A scored run as another command reads it."""

    name: str
    statistics: Statistics
    provenance: dict[str, Any] = field(default_factory=dict)
    slices: dict[str, str] = field(default_factory=dict)  # video -> label


def as_record(scores: Scores, *, slices: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Per-video scores, and the counts of the metrics that do not follow from them."""
    record: dict[str, Any] = {"per_video": scores.per_video, "counts": _counts(scores.statistics)}
    record["provenance"] = scores.provenance
    if scores.spice_kinds:
        record["spice"] = scores.spice_kinds
    labels = slices or {}
    if known := {video: labels[video] for video in scores.per_video if video in labels}:
        record["slices"] = known
    return record


def spice_means(scores: Scores) -> dict[str, float]:
    """SPICE's sub-scores: means over the videos that have anything of the kind."""
    return {kind: float(np.mean([*each.values()])) for kind, each in scores.spice_kinds.items() if each}


def _counts(statistics: Statistics) -> dict[str, dict[str, str]]:
    """video -> metric -> numbers as one line, the way METEOR prints them: one line per video can be read by people."""
    tables = {"BLEU": statistics.bleu, "METEOR": statistics.meteor}
    rows = {name: table.tolist() for name, table in tables.items() if table is not None}
    return {
        video: {name: " ".join(f"{value:.17g}" for value in table[place]) for name, table in rows.items()}
        for place, video in enumerate(statistics.videos)
    }


def read_evaluation(path: Path, *, name: str) -> Evaluation:
    """What `framescribe evaluate` wrote about a run (evaluation/<run>.json) or about files (metrics.json)."""
    again = _again(path, name)
    record = read_sealed_json(path, hint=again)
    try:
        return Evaluation(name, _statistics(record), dict(record["provenance"]), dict(record.get("slices", {})))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        told = f"{path} has no per-video counts, which a comparison is made from ({error!r})"
        raise InputError(told, hint=again) from error


def _again(path: Path, name: str) -> str:
    if path.parent.name != EVALUATIONS.name:
        return f"framescribe evaluate --predictions P --references R --out {path}"
    command = evaluate_command(name)
    return f"`{command}`, or `dvc repro --force evaluate@{name}`" if parse_name(name).of_stage else command


def is_evaluation(value: Any) -> bool:
    return isinstance(value, dict) and {"per_video", "provenance"} <= value.keys()


def _statistics(record: Mapping[str, Any]) -> Statistics:
    per_video, counts = record["per_video"], record["counts"]
    videos = sorted(per_video)
    bleu, meteor = (_table(counts, videos, metric=metric) for metric in SUMMED)
    if bleu is None:
        raise ValueError("no counts of BLEU")
    means = [name for name in ORDER if name in per_video[videos[0]] and not name.startswith(SUMMED)]
    return Statistics(
        videos, bleu, meteor, {name: np.array([per_video[video][name] for video in videos]) for name in means}
    )


def _table(counts: Mapping[str, Mapping[str, str]], videos: Sequence[str], *, metric: str) -> np.ndarray | None:
    if not all(metric in counts[video] for video in videos):
        return None
    return np.array([counts[video][metric].split() for video in videos], dtype=np.float64)


def remarks(hypotheses: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> list[str]:
    """What is allowed, but that the reader of a score should know."""
    silent = [video for video, text in hypotheses.items() if not text.strip()]
    blank = [video for video, texts in references.items() if not all(text.strip() for text in texts)]
    twice = [video for video, texts in references.items() if len(set(texts)) < len(texts)]
    told = []
    if silent:
        told.append(f"{len(silent)} predictions are empty, and score nothing: {named(silent)}")
    if blank:
        told.append(f"{len(blank)} videos have an empty reference: {named(blank)}")
    if twice:
        told.append(f"{len(twice)} videos have a reference more than once, as they were given: {named(twice)}")
    return told


def slice_scores(
    statistics: Statistics, slices: Mapping[str, str], *, metrics: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Corpus scores over the videos of each slice; CIDEr-D with the document frequencies of all videos."""
    found = {}
    for label in sorted(set(slices.values())):
        members = [video for video in statistics.videos if slices.get(video) == label]
        if members:
            scores = statistics.subset(members).corpus_scores()
            found[label] = {name: scores[name] for name in metrics if name in scores}
    return found
