"""Score a run's sentences against the references, beside always saying the most frequent training caption."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console

if TYPE_CHECKING:
    from pipeline.metrics import Scores
    from pipeline.params import Evaluate

SLICE_METRICS = ("METEOR", "ROUGE-L", "CIDEr-D")  # the mean of a video's own BLEU scores says little


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", help="a captioned run: an entry of `train` in params.yaml, or any predictions/RUN.json"
    )
    parser.add_argument("--predictions", type=Path, metavar="P", help="instead of RUN: a JSON file of captions by id")
    parser.add_argument("--references", type=Path, metavar="R", help="with --predictions: a JSON file of references")
    parser.add_argument("--out", type=Path, metavar="F", help="with --predictions: write all scores to this file")
    parser.add_argument("--no-meteor", action="store_true", help="with --predictions: leave METEOR out")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.errors import UsageError

    files = (args.predictions, args.references)
    if args.run and not any((*files, args.out, args.no_meteor)):
        return _evaluate_run(args.run, console)
    if all(files) and not args.run:
        return _evaluate_files(args, console)
    raise UsageError("give either RUN, or both --predictions and --references", hint="framescribe evaluate --help")


def _evaluate_run(name: str, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    params, predictions = load_params(), Path("predictions") / f"{name}.json"
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
    from pipeline.metrics import score
    from pipeline.metrics.reading import read_predictions, read_references
    from pipeline.publish import write_json

    scores = score(read_predictions(args.predictions), read_references(args.references), meteor=not args.no_meteor)
    summary = {"scores": scores.corpus, "provenance": scores.provenance}
    if args.out:
        write_json(args.out, summary | {"per_video": scores.per_video})
    _show(console, {args.predictions.name: scores.corpus})
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
    from pipeline.metrics.reading import read_run_predictions
    from pipeline.publish import write_json

    split, said = read_run_predictions(predictions, run=name)
    corpus = read_corpus(captions)
    if split not in corpus.splits:
        raise InputError(f"{predictions}: there is no split '{split}'; {captions} has: {', '.join(corpus.splits)}")
    ours, baseline, about = _score_beside_baseline(
        said, corpus.references(split), training=corpus.sentences("train"), meteor=params.meteor
    )
    numbers: dict[str, Any] = {"scores": ours.corpus, "most_frequent_caption": baseline.corpus, "videos": len(said)}
    if slices := slice_scores(ours.per_video, corpus.slices):
        numbers["slices"] = slices
    write_json(metrics, numbers)
    provenance = ours.provenance | {"split": split}
    write_json(evaluation, {"per_video": ours.per_video, "baseline": about, "provenance": provenance})
    _show(console, {name: ours.corpus, "most frequent caption": baseline.corpus})
    return {"run": name, **numbers, "metrics": str(metrics), "evaluation": str(evaluation)}


def _score_beside_baseline(
    said: Mapping[str, str], references: Mapping[str, Sequence[str]], *, training: Sequence[str], meteor: bool
) -> tuple[Scores, Scores, dict[str, Any]]:
    """One tokeniser and one METEOR process serve the run and the baseline."""
    from pipeline.java import find_java
    from pipeline.metrics import CaptionScorer, Scores, check_ids, open_meteor, provenance, tokenize_groups

    check_ids(said, references)
    java = find_java()
    ours, train = tokenize_groups({"said": list(said.values()), "train": training}, java=java).values()
    tokenized = tokenize_groups(references, java=java)
    caption, times = most_frequent(train)
    with open_meteor(java if meteor else None) as process:
        scorer = CaptionScorer(tokenized, meteor=process)
        run_scores = scorer.score(dict(zip(said, ours, strict=True)))
        baseline = scorer.score(dict.fromkeys(said, caption))
    facts = provenance(references, tokenizer="ptb", meteor=meteor, java=java)
    about = {"caption": caption, "times": times, "training_captions": len(train)}
    return Scores(run_scores.corpus, run_scores.per_video, facts), baseline, about


def most_frequent(captions: Sequence[str]) -> tuple[str, int]:
    """The caption said most often and how often; of equals the first in the alphabet."""
    counts = Counter(caption for caption in captions if caption)
    return min(counts.items(), key=lambda item: (-item[1], item[0]), default=("", 0))


def slice_scores(
    per_video: Mapping[str, Mapping[str, float]], slices: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Means over each slice of the scores that its videos have in the whole split."""
    members: dict[str, list[Mapping[str, float]]] = {}
    for video, scores in per_video.items():
        if video in slices:
            members.setdefault(slices[video], []).append(scores)
    return {label: _means(found) for label, found in sorted(members.items())}


def _means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = [name for name in SLICE_METRICS if name in scores[0]]
    return {name: sum(video[name] for video in scores) / len(scores) for name in names}


def _show(console: Console, columns: Mapping[str, Mapping[str, float]]) -> None:
    names = next(iter(columns.values()))
    console.table(["metric", *columns], [[name, *(column[name] for column in columns.values())] for name in names])
