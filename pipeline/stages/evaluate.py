"""Score a run's sentences against the references, beside always saying the most frequent training caption.

Or any file of predictions against any file of references: COCO results, the data sets' own annotations, JSON, JSONL.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console

if TYPE_CHECKING:
    from pipeline.metrics.scorer import Scores
    from pipeline.metrics.toolkit import Settings
    from pipeline.params import Evaluate

SLICE_METRICS = ("BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D", "SPICE")
OF_FILES = ("predictions", "references", "out", "split", "common", "no_meteor", "no_spice", "tokenizer", "resamples")
METRICS = Path("metrics.json")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", help="a captioned run: an entry of `train` in params.yaml, or any predictions/RUN.json"
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

    if args.run and all(getattr(args, name) in (None, False) for name in OF_FILES):
        return _evaluate_run(args, console)
    if args.predictions and args.references and not args.run:
        return _evaluate_files(args, console)
    raise UsageError("give either RUN, or both --predictions and --references", hint="framescribe evaluate --help")


def _evaluate_run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    name, params = args.run, load_params()
    predictions = Path("predictions") / f"{name}.json"
    if not predictions.is_file():  # an ensemble or a fusion is no entry of params.yaml
        pick(params.train, name, kind="run")
    return run(
        name,
        predictions=predictions,
        captions=Path("data/captions"),
        metrics=Path("metrics") / name / "scores.json",
        evaluation=Path("evaluation") / f"{name}.json",
        params=params.evaluate,
        console=console,
    )


def _evaluate_files(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.evaluation import as_record, remarks, spice_means
    from pipeline.hashing import file_sha256
    from pipeline.metrics import score_all
    from pipeline.metrics.bootstrap import RESAMPLES, intervals
    from pipeline.metrics.reading import read_predictions
    from pipeline.metrics.references import read_references, same_videos
    from pipeline.metrics.toolkit import Settings
    from pipeline.publish import write_json

    stated, said = read_predictions(args.predictions)
    known = read_references(args.references)
    sets, references, left_out = same_videos({"": said}, known, split=args.split, common=args.common)
    settings = Settings(
        tokenizer=args.tokenizer or "ptb",
        meteor=not args.no_meteor,
        spice=not args.no_spice,
    )
    scores = score_all(settings, sets, references.captions)[""]
    told = [*left_out, *remarks(sets[""], references.captions), *scores.provenance.get("remarks", [])]
    facts = scores.provenance | {
        "split": references.split or stated or "not stated",
        "files": {str(path): file_sha256(path) for path in (args.predictions, args.references) if path.is_file()},
        "remarks": told,
    }
    resamples = RESAMPLES if args.resamples is None else args.resamples
    summary: dict[str, Any] = {
        "scores": scores.corpus,
        "intervals": intervals(scores.statistics, resamples=resamples),
        "provenance": facts,
    }
    if kinds := spice_means(scores):
        summary["spice"] = kinds
    write_json(args.out or METRICS, as_record(scores) | summary)
    _show(console, {args.predictions.name: scores.corpus}, summary["intervals"])
    for line in told:
        console.say(line)
    console.say(f"{args.out or METRICS}: {facts['videos']} videos, split {facts['split']}")
    return summary


def run(
    name: str,
    *,
    predictions: Path,
    captions: Path,
    metrics: Path,
    evaluation: Path,
    params: Evaluate,
    console: Console,
) -> dict[str, Any]:
    """Numbers go to `metrics`, for `dvc metrics show`; per-video scores and provenance to `evaluation`."""
    from pipeline.corpus import read_corpus
    from pipeline.errors import InputError
    from pipeline.evaluation import as_record, slice_scores, spice_means
    from pipeline.metrics.bootstrap import intervals
    from pipeline.metrics.reading import read_run_predictions
    from pipeline.metrics.toolkit import Settings
    from pipeline.publish import write_json

    split, said = read_run_predictions(predictions, run=name)
    corpus = read_corpus(captions)
    if split not in corpus.splits:
        raise InputError(f"{predictions}: there is no split '{split}'; {captions} has: {', '.join(corpus.splits)}")
    settings = Settings(tokenizer=params.tokenizer, meteor=params.meteor, spice=params.spice)
    ours, baseline, about = _score_beside_baseline(
        said, corpus.references(split), training=corpus.sentences("train"), settings=settings
    )
    numbers: dict[str, Any] = {
        "scores": ours.corpus,
        "intervals": intervals(ours.statistics, resamples=params.resamples),
        "most_frequent_caption": baseline.corpus,
        "videos": len(said),
    }
    record = as_record(ours) | {"baseline": about, "provenance": ours.provenance | {"split": split}}
    labels = {video: corpus.slices[video] for video in said if video in corpus.slices}
    if labels:
        numbers["slices"] = slice_scores(ours.statistics, labels, metrics=SLICE_METRICS)
        record["slices"] = labels
    if kinds := spice_means(ours):
        numbers["spice"] = kinds
    write_json(metrics, numbers)
    write_json(evaluation, record)
    _show(console, {name: ours.corpus, "most frequent caption": baseline.corpus}, numbers["intervals"])
    for line in ours.provenance.get("remarks", []):
        console.say(line)
    return {"run": name, **numbers, "metrics": str(metrics), "evaluation": str(evaluation)}


def _score_beside_baseline(
    said: Mapping[str, str], references: Mapping[str, Sequence[str]], *, training: Sequence[str], settings: Settings
) -> tuple[Scores, Scores, dict[str, Any]]:
    """One tokeniser and one set of METEOR processes serve the run and the baseline."""
    from pipeline.evaluation import remarks
    from pipeline.metrics import check_ids, comparisons, off_by
    from pipeline.metrics.scorer import CaptionScorer
    from pipeline.metrics.toolkit import open_toolkit

    check_ids(said, references)
    with open_toolkit(settings, comparisons=2 * comparisons(references)) as tools:
        train = tools.tokenize(training)
        together = {video: [said[video], *texts] for video, texts in references.items()}
        tokenized = tools.tokenize_groups(together)
        caption, times = most_frequent(train)
        scorer = CaptionScorer({video: texts[1:] for video, texts in tokenized.items()}, tools=tools)
        ours = scorer.score({video: tokenized[video][0] for video in said})
        baseline = scorer.score(dict.fromkeys(said, caption), spice=False)  # it takes half an hour
        facts = tools.provenance(references)
        if settings.tokenizer == "python":
            facts["tokenizer_off_by"] = off_by(ours, tools, together, tokenized)
    if told := [*remarks(said, references), *tools.remarks]:
        facts["remarks"] = told
    about = {"caption": caption, "times": times, "training_captions": len(train)}
    return replace(ours, provenance=facts), baseline, about


def most_frequent(captions: Sequence[str]) -> tuple[str, int]:
    """The caption said most often and how often; of equals the first in the alphabet."""
    counts = Counter(caption for caption in captions if caption)
    return min(counts.items(), key=lambda item: (-item[1], item[0]), default=("", 0))


def _show(
    console: Console, columns: Mapping[str, Mapping[str, float]], intervals: Mapping[str, tuple[float, float]]
) -> None:
    """A row a metric; the interval is that of the first column."""
    first, *others = columns.values()
    shown = {name: f"{low:.4f} to {high:.4f}" for name, (low, high) in intervals.items()}
    rows = [
        [name, value, *(other.get(name, "-") for other in others), shown.get(name, "-")]
        for name, value in first.items()
    ]
    console.table(["metric", *columns, "95 % interval"], rows)
