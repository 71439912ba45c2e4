"""Score a run's sentences against the references, beside always saying the most frequent training caption.

Several runs share METEOR's tables and the baseline; on a cluster each worker has some of the runs.
Or any file of predictions against any file of references: COCO results, the data sets' own annotations, JSON, JSONL.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console
from pipeline.execution import Executor, InProcess

if TYPE_CHECKING:
    from pipeline.metrics.scorer import Scores
    from pipeline.params import Evaluate

OF_FILES = ("predictions", "references", "out", "split", "common", "no_meteor", "no_spice", "tokenizer", "resamples")
METRICS = Path("metrics.json")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="captioned runs: entries of `train` in params.yaml, or any predictions/RUN.json",
    )
    files = parser.add_argument_group("files instead of a run")
    files.add_argument("--predictions", type=Path, metavar="P", help="captions by id: COCO results, JSON or JSONL")
    files.add_argument("--references", type=Path, metavar="R", help="MSR-VTT, MSVD, VATEX or COCO, JSON or JSONL")
    files.add_argument("--split", help="of the references, when they name splits: score these videos only")
    files.add_argument("--common", action="store_true", help="score the videos that both files have")
    files.add_argument("--tokenizer", choices=("ptb", "python", "none"), help="(default: ptb; python needs no Java)")
    files.add_argument("--no-meteor", action="store_true", help="leave METEOR out")
    files.add_argument("--no-spice", action="store_true", help="leave SPICE out, even when its jar and models are here")
    files.add_argument("--resamples", type=int, metavar="N", help="of the bootstrap (default: 1000; 0: no intervals)")
    files.add_argument("--out", type=Path, metavar="F", help=f"all scores (default: {METRICS})")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.errors import UsageError

    machine = args.machine()
    # On one machine METEOR's own processes and SPICE's own threads are at work on all cores.
    executor = machine.executor if machine.is_cluster else InProcess()
    given = [name for name in OF_FILES if getattr(args, name) is not None and getattr(args, name) is not False]
    if args.runs and not given:
        return _evaluate_runs(args.runs, executor, console)
    if args.predictions and args.references and not args.runs:
        return _evaluate_files(args, executor, console)
    if args.runs:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(
            f"{options}: goes with both --predictions and --references, not with RUN",
            hint="runs are scored as `evaluate` in params.yaml says",
        )
    raise UsageError("give either RUN, or both --predictions and --references", hint="framescribe evaluate --help")


def _evaluate_runs(names: Sequence[str], executor: Executor, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    params = load_params()
    for name in names:
        if not (Path("predictions") / f"{name}.json").is_file():  # an ensemble or a fusion is no entry of params.yaml
            pick(params.train, name, kind="run")
    summaries = run(names, params=params.evaluate, executor=executor, console=console)
    return summaries[names[0]] if len(names) == 1 else {"runs": summaries}


def _evaluate_files(args: argparse.Namespace, executor: Executor, console: Console) -> dict[str, Any]:
    from pipeline.evaluation import as_record
    from pipeline.publish import write_json

    scores, facts = _scored_files(args, executor)
    summary = _summary(scores, facts, resamples=args.resamples)
    write_json(args.out or METRICS, as_record(scores) | summary)
    name = args.predictions.name
    _show(console, {name: scores.corpus}, {name: summary["intervals"]})
    for line in facts["remarks"]:
        console.say(line)
    console.say(f"{args.out or METRICS}: {facts['videos']} videos, split {facts['split']}")
    return summary


def _scored_files(args: argparse.Namespace, executor: Executor) -> tuple[Scores, dict[str, Any]]:
    """The scores, and what is to be known of them: files, split, remarks."""
    from pipeline.evaluation import remarks
    from pipeline.hashing import file_sha256
    from pipeline.metrics import score_all
    from pipeline.metrics.reading import read_predictions
    from pipeline.metrics.references import read_references, same_videos
    from pipeline.metrics.toolkit import Settings

    stated, said = read_predictions(args.predictions)
    known = read_references(args.references)
    sets, references, left_out = same_videos({"": said}, known, split=args.split, common=args.common)
    settings = Settings(tokenizer=args.tokenizer or "ptb", meteor=not args.no_meteor, spice=not args.no_spice)
    scores = score_all(settings, sets, references.captions, executor=executor)[""]
    told = [*left_out, *remarks(sets[""], references.captions), *scores.provenance.get("remarks", [])]
    files = {str(path): file_sha256(path) for path in (args.predictions, args.references) if path.is_file()}
    split = references.split or stated or "not stated"
    return scores, scores.provenance | {"split": split, "files": files, "remarks": told}


def _summary(scores: Scores, facts: dict[str, Any], *, resamples: int | None) -> dict[str, Any]:
    from pipeline.evaluation import spice_means
    from pipeline.metrics.bootstrap import RESAMPLES, intervals

    ends = intervals(scores.statistics, resamples=RESAMPLES if resamples is None else resamples)
    kinds = spice_means(scores)
    return {"scores": scores.corpus, "intervals": ends, "provenance": facts} | ({"spice": kinds} if kinds else {})


def run(names: Sequence[str], *, params: Evaluate, executor: Executor, console: Console) -> dict[str, dict[str, Any]]:
    """predictions/RUN.json against data/captions; each run's files are there as soon as it is scored."""
    from pipeline.scoring import score_runs

    found: dict[str, dict[str, Any]] = {}
    told: dict[str, None] = {}
    with console.progress("evaluate", len(names)) as progress:
        for scored in score_runs(names, params=params, executor=executor):
            found[scored.summary["run"]] = scored.summary
            told |= dict.fromkeys(scored.remarks)
            progress.advance(note=scored.summary["run"])
    columns = {name: found[name]["scores"] for name in names}
    baseline = {"most frequent caption": found[names[0]]["most_frequent_caption"]}
    _show(console, columns | baseline, {name: found[name]["intervals"] for name in names})
    for line in told:
        console.say(line)
    return {name: found[name] for name in names}


def _show(
    console: Console,
    columns: Mapping[str, Mapping[str, float]],
    intervals: Mapping[str, Mapping[str, tuple[float, float]]],
) -> None:
    """A row a metric, and beside each column the intervals that it has."""
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
