"""Two runs, or two files of predictions, compared and shown: the work of `framescribe compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console, UsageError, write_json
from pipeline.evaluation.bootstrap import RESAMPLES, SEED, Difference, too_few
from pipeline.evaluation.comparison import Comparison, compare_evaluations, find_evaluations, is_predictions
from pipeline.evaluation.prediction_files import read_predictions
from pipeline.evaluation.record import Evaluation
from pipeline.evaluation.references import read_references, same_videos
from pipeline.evaluation.scoring import score_all
from pipeline.evaluation.toolkit import MetricSettings
from pipeline.runs import common_name

SLICED = "CIDEr-D"  # the metric of the table by slice; the record has all
Sides = Sequence[Sequence[Evaluation]]  # the first and the second, each one run or its seeds


def evaluated_sides(names: Sequence[str], *, seeds: bool = False) -> Sides:
    """Of runs, or of files that `evaluate` wrote."""
    return [_evaluated(name, seeds=seeds) for name in names]


def _evaluated(name: str, *, seeds: bool) -> list[Evaluation]:
    if is_predictions(name):
        raise UsageError(f"{name} holds predictions, not scores", hint="give their references with --references R")
    return find_evaluations(name, seeds=seeds)


def scored_sides(
    files: Sequence[Path], *, references: Path, split: str | None = None, common: bool = False, meteor: bool = True
) -> Sides:
    """Of files of predictions, which are scored by one open toolkit."""
    hypotheses = {str(path): read_predictions(path)[1] for path in files}
    sets, known, _ = same_videos(hypotheses, read_references(references), split=split, common=common)
    scores = score_all(MetricSettings(meteor=meteor), sets, known.captions)
    return [[Evaluation(path.stem, scores[str(path)].statistics, scores[str(path)].provenance)] for path in files]


def compare_sides(
    sides: Sides, *, resamples: int = RESAMPLES, seed: int = SEED, out: Path | None = None, console: Console
) -> dict[str, Any]:
    first, second = sides
    found = compare_evaluations(first, second, resamples=resamples, seed=seed)
    _show(console, found, sides)
    summary: dict[str, Any] = {
        "runs": [[one.name for one in side] for side in sides],
        "videos": found.videos,
        "resamples": resamples,
        "seed": seed,
        "metrics": {name: vars(one) for name, one in found.all.items()},
        "slices": {label: {name: vars(one) for name, one in each.items()} for label, each in found.slices.items()},
        "winner": _winner(found, sides),
        "verdict": _verdict(found, sides),
    }
    console.say(summary["verdict"])
    if out:
        write_json(out, summary)
    return summary


def _winner(found: Comparison, sides: Sides) -> str | None:
    """By the metric of the slices; nobody where chance explains the difference, or the videos are too few to tell."""
    one = found.all[SLICED]
    if one.interval is None or one.interval[0] <= 0 <= one.interval[1]:
        return None
    return _title(sides[1] if one.difference > 0 else sides[0])


def _verdict(found: Comparison, sides: Sides) -> str:
    if told := too_few(found.videos):
        return f"no winner: {told}"
    winner = _winner(found, sides)
    return f"better by {SLICED}: {winner}" if winner else f"no winner: the interval of {SLICED} holds zero"


def _show(console: Console, found: Comparison, sides: Sides) -> None:
    columns = ["metric", *map(_title, sides), "difference", "95 % interval", "p (drawn again)", "p (exchanged)"]
    console.table(columns, [_row(name, one) for name, one in found.all.items()], title=f"{found.videos} videos")
    if found.slices:
        rows = [_row(f"{label} ({found.sizes[label]})", each[SLICED]) for label, each in found.slices.items()]
        console.table(["slice (videos)", *columns[1:]], rows, title=f"\n{SLICED} by slice")


def _title(side: Sequence[Evaluation]) -> str:
    names = [one.name for one in side]
    return names[0] if len(names) == 1 else f"{common_name(names)} ({len(names)} seeds)"


def _row(name: str, one: Difference) -> list[str]:
    return [
        name,
        *(
            f"{value:.4f}" + (f" ± {spread:.4f}" if spread is not None else "")
            for value, spread in zip((one.first, one.second), one.spread, strict=True)
        ),
        f"{one.difference:+.4f}",
        "-" if one.interval is None else "{:+.4f} to {:+.4f}".format(*one.interval),
        *("-" if p is None else f"{p:.3f}" for p in (one.p_bootstrap, one.p_permutation)),
    ]
