"""The stage `evaluate`: captioned runs, scored and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import Console, Executor, InputError, unchanged
from pipeline.evaluation.bootstrap import too_few
from pipeline.evaluation.run_scores import CAPTIONS, score_runs
from pipeline.params import Params, params_in_use, pick
from pipeline.predictions import caption_command, parse_name


def evaluate_runs(
    names: Sequence[str], *, params: Params, executor: Executor, console: Console
) -> dict[str, dict[str, Any]]:
    """predictions/RUN.json against data/captions; each run's files are there as soon as it is scored."""
    for name in names:
        file = Path("predictions") / f"{name}.json"
        if not file.is_file() and parse_name(name).videos:
            raise InputError(f"{file} does not exist", hint=caption_command(name))
        if not file.is_file():  # an ensemble or a fusion is no entry of params.yaml
            pick(params.train, name, kind="run")
    found: dict[str, dict[str, Any]] = {}
    remarks: dict[str, None] = {}
    files = [CAPTIONS, *(Path("predictions") / f"{name}.json" for name in names)]
    in_use = params_in_use(params, "evaluate")
    with console.progress("evaluate", len(names)) as progress, unchanged(files, values=in_use) as inputs:
        for scored in score_runs(names, params=params.evaluate, executor=executor, inputs=inputs):
            found[scored.summary["run"]] = scored.summary
            remarks |= dict.fromkeys(scored.remarks)
            progress.advance(note=scored.summary["run"])
    columns = {name: found[name]["scores"] for name in names}
    baseline = {"most frequent caption": found[names[0]]["most_frequent_caption"]}
    show_scores(console, columns | baseline, {name: found[name]["intervals"] for name in names})
    few = dict.fromkeys(told for name in names if (told := too_few(found[name]["videos"])))
    say_remarks(console, [*remarks, *few])
    return {name: found[name] for name in names}


def say_remarks(console: Console, remarks: Iterable[str]) -> None:
    """A line each: the record has the rest, and the doctor tells once what to do, not every evaluation."""
    for remark in remarks:
        line, _, rest = remark.partition("\n")
        console.say(f"{line} (framescribe doctor says what to do)" if rest else line)


def show_scores(
    console: Console,
    columns: Mapping[str, Mapping[str, float]],
    intervals: Mapping[str, Mapping[str, tuple[float, float]]],
) -> None:
    """One row per metric; beside each column the intervals that it has."""
    metrics = next(iter(columns.values()))
    header: list[str] = ["metric"]
    rows: list[list[Any]] = [[metric] for metric in metrics]
    for name, scores in columns.items():
        header.append(name)
        for row in rows:
            row.append(scores.get(row[0], "-"))
        if name in intervals:
            header.append("95 % interval")
            for row in rows:
                row.append(_interval(intervals[name].get(row[0])))
    console.table(header, rows)


def _interval(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}"
