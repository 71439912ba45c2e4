"""Two runs, or two sets of runs that differ only by seed, put beside each other: is the difference more than chance?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core import InputError, UsageError, named, read_json
from pipeline.evaluation.bootstrap import Difference, compare
from pipeline.evaluation.record import EVALUATIONS, Evaluation, is_evaluation, read_evaluation
from pipeline.evaluation.statistics import Statistics
from pipeline.runs import siblings

SHOWN = 60  # characters of a value in a message
MUST_AGREE = ("references_sha256", "tokenizer")  # scores made otherwise are not of the same scale


@dataclass(frozen=True)
class Comparison:
    videos: int
    all: dict[str, Difference]
    slices: dict[str, dict[str, Difference]]  # slice -> metric -> difference
    sizes: dict[str, int]  # slice -> videos


def find_evaluations(name: str, *, seeds: bool) -> list[Evaluation]:
    """Of a run by its name, with its siblings when `seeds` is asked for; or of a file that `evaluate` wrote."""
    if Path(name).is_file():
        return [read_evaluation(Path(name), name=Path(name).stem)]
    names = siblings(name) if seeds else [name]
    if seeds and len(names) < 2:
        raise UsageError(
            f"no run differs from '{name}' only by its seed", hint="add entries with other seeds to train:"
        )
    return [read_evaluation(EVALUATIONS / f"{one}.json", name=one) for one in names]


def is_predictions(name: str) -> bool:
    """A file of predictions, which must be scored before it can be compared."""
    path = Path(name)
    return path.is_file() and (path.suffix == ".jsonl" or not is_evaluation(read_json(path)))


def compare_evaluations(
    first: Sequence[Evaluation], second: Sequence[Evaluation], *, resamples: int, seed: int
) -> Comparison:
    _require_alike([*first, *second])
    labels, every = first[0].slices, sorted(first[0].statistics.videos)  # the order of a file decides no draw
    members: dict[str, list[str]] = {}
    for video in every:
        if video in labels:
            members.setdefault(labels[video], []).append(video)

    def between(videos: Sequence[str]) -> dict[str, Difference]:
        sides: list[list[Statistics]] = [[one.statistics.subset(videos) for one in side] for side in (first, second)]
        return compare(*sides, resamples=resamples, seed=seed)

    return Comparison(
        videos=len(every),
        all=between(every),
        slices={label: between(videos) for label, videos in sorted(members.items()) if len(videos) > 1},
        sizes={label: len(videos) for label, videos in sorted(members.items())},
    )


def _require_alike(evaluations: Sequence[Evaluation]) -> None:
    """The same videos, references and tools; else the scores cannot be compared at all."""
    one = evaluations[0]
    for other in evaluations[1:]:
        apart = set(one.statistics.videos) ^ set(other.statistics.videos)
        if apart:
            raise InputError(f"{one.name} and {other.name} are of different videos: {named(sorted(apart))}")
        for key, ours, theirs in _tools(one, other):
            if ours != theirs:
                told = f"{one.name} and {other.name} were scored with different {key}"
                raise InputError(
                    f"{told}: {str(ours)[:SHOWN]} and {str(theirs)[:SHOWN]}",
                    hint="score both again with the same references and the same tools",
                )


def _tools(one: Evaluation, other: Evaluation) -> Iterator[tuple[str, Any, Any]]:
    """(name, ours, theirs); a jar that only one was scored with, METEOR's say, belongs to no metric that both have."""
    yield from ((key, one.provenance.get(key), other.provenance.get(key)) for key in MUST_AGREE)
    ours, theirs = one.provenance.get("jars", {}), other.provenance.get("jars", {})
    yield from ((jar, ours[jar], theirs[jar]) for jar in ours if jar in theirs)
