"""Two runs on the same clips: the statistics of `framescribe compare`, and the clips on which they differ most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.browsing.caption_library import HEADLINE, Library
from pipeline.browsing.pages import Mark, Paged, kept, mark_of, paged
from pipeline.core import Console, InputError, UsageError, named, printable
from pipeline.evaluation import RESAMPLES, Evaluation, compare_sides, read_evaluation

CLIPS = 20  # of a page
EVALUATIONS = Path("evaluation")
SORTED_BY = ("difference", "second", "first")


@dataclass(frozen=True)
class DifferingClip:
    video: str
    slice: str
    references: Sequence[str]
    captions: tuple[str, str]
    scores: tuple[float, float]

    @property
    def difference(self) -> float:
        return self.scores[1] - self.scores[0]


def evaluated_names(folder: Path = EVALUATIONS) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json"))


def evaluation_of(name: str, folder: Path = EVALUATIONS) -> Evaluation:
    """By a name that somebody sent: it is one of the list, or there is no such run."""
    if name not in (known := evaluated_names(folder)):
        there = named(known) or "none yet"
        raise InputError(f"no run '{printable(name)}' was evaluated; there are: {there}", hint="dvc repro evaluate")
    return _evaluation(folder / f"{name}.json")


_evaluation = kept(lambda path: read_evaluation(path, name=path.stem), files=16)


def paired_statistics(first: str, second: str, *, folder: Path = EVALUATIONS) -> dict[str, Any]:
    """The summary that `framescribe compare FIRST SECOND --json` prints."""
    if first == second:
        raise UsageError("a run is not compared with itself; choose two", hint="framescribe compare RUN_A RUN_B")
    sides = evaluation_of(first, folder), evaluation_of(second, folder)
    del sides  # they are there
    marks = tuple(mark_of(folder / f"{name}.json") for name in (first, second))
    return _statistics(folder, first, second, marks)


@lru_cache(maxsize=16)
def _statistics(folder: Path, first: str, second: str, marks: tuple[Mark, ...]) -> dict[str, Any]:
    del marks  # of the files: an evaluation that was made again is compared again
    sides = [[evaluation_of(name, folder)] for name in (first, second)]
    return compare_sides(sides, resamples=RESAMPLES, console=Console(quiet=True))


def differing_clips(
    first: str,
    second: str,
    *,
    library: Library,
    by: str = "difference",
    slice_: str = "",
    page: int = 1,
    folder: Path = EVALUATIONS,
) -> Paged[DifferingClip]:
    """The clips on which the two differ most; or on which the second, or the first, is most ahead."""
    ours, theirs = (_scores(evaluation_of(name, folder)) for name in (first, second))
    slices = library.corpus.slices
    gaps = {
        video: theirs[video] - ours[video]
        for video in sorted(ours.keys() & theirs.keys())
        if not slice_ or slices.get(video, "") == slice_
    }
    rank = {"second": lambda gap: -gap, "first": lambda gap: gap}.get(by, lambda gap: -abs(gap))
    shown = paged(sorted(gaps, key=lambda video: rank(gaps[video])), page, size=CLIPS)
    lines = [
        DifferingClip(
            video,
            slices.get(video, ""),
            library.corpus.captions.get(video, []),
            (_caption(library, first, video), _caption(library, second, video)),
            (ours[video], theirs[video]),
        )
        for video in shown.items
    ]
    return Paged(lines, shown.page, shown.pages, shown.count, shown.first)


def _scores(evaluation: Evaluation) -> dict[str, float]:
    values = evaluation.statistics.means.get(HEADLINE)
    known = values if values is not None else np.zeros(len(evaluation.statistics.videos))
    return dict(zip(evaluation.statistics.videos, known.tolist(), strict=True))


def _caption(library: Library, run: str, video: str) -> str:
    return library.captions.get(run, {}).get(video, "")
