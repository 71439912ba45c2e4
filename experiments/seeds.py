"""Several seeds of every run of params.yaml: learning curves, scores of beam search, and speeds, into one JSON file.

    python -m experiments.seeds results.json --seeds 0 1 2 --decodings words

Works in the current folder, which holds params.yaml, data/captions and features/ (docs/real-language.md). What the file
already has is not done again, so the command may be stopped and started. Speeds are per processor second of one core;
those of training include the validation after every epoch.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from experiments.folds.recipe import read_decodings
from pipeline.captioner import caption_videos, open_run
from pipeline.captioning.chosen_search import chosen_search
from pipeline.core import Console, FramescribeError, Progress, write_json
from pipeline.corpus import read_corpus
from pipeline.evaluation import score
from pipeline.params import Caption, Params, Schedule, Train, load_params, pick
from pipeline.training import Trainer, prepare, publish_run

CAPTIONS = Path("data/captions")
DIGITS = 4  # of seconds: a few videos take some thousandths, and nothing is done in none


def main(argv: Sequence[str] | None = None) -> int:
    try:
        _every_seed(_parser().parse_args(argv))
    except FramescribeError as error:
        sys.stderr.write(f"seeds: {error}\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", nargs="+", help="entries of `train` in params.yaml (default: all)")
    parser.add_argument(
        "--decodings", nargs="*", default=[], metavar="NAME", help="beside beam and greedy: of folds/recipes.yaml"
    )
    parser.add_argument("--no-meteor", action="store_true", help="leave METEOR out")
    return parser


def _every_seed(args: argparse.Namespace) -> None:
    params, console = load_params(), Console()
    known = read_decodings(params.caption)
    decodings = {name: pick(known, name, kind="decoding", where="folds/recipes.yaml") for name in args.decodings}
    for seed in args.seeds:
        for run in args.runs or params.train:
            name = f"{run}-{seed}"
            chosen = of_seed(pick(params.train, run, kind="run"), seed)
            finish(name, chosen, params, results=args.results, meteor=not args.no_meteor, console=console)
            decode(name, decodings, results=args.results, meteor=not args.no_meteor)
    show(json.loads(args.results.read_text()), console)


def of_seed(run: Train, seed: int) -> Train:
    start = f"{run.start_from}-{seed}" if run.start_from else ""
    return run.model_copy(update={"seed": seed, "start_from": start})


def finish(name: str, run: Train, params: Params, *, results: Path, meteor: bool, console: Console) -> None:
    """What the results lack of this run; training is written down before anything is scored."""
    found = json.loads(results.read_text()) if results.is_file() else {}
    if name not in found:
        found[name] = trained(name, run, params, console=console)
        write_json(results, found)
    if "beam" not in found[name] or (meteor and "METEOR" not in found[name]["beam"]["scores"]):
        beam = params.caption.model_copy(update={"search": "beam"})
        found[name]["greedy"] = captioned(name, beam.model_copy(update={"beam": 1}), meteor=False)
        found[name]["beam"] = captioned(name, beam, meteor=meteor)
        write_json(results, found)
    console.say(f"{name}: {summary(found[name])}")


def decode(name: str, decodings: Mapping[str, Caption], *, results: Path, meteor: bool) -> None:
    """What the results lack of the other ways to decode."""
    found = json.loads(results.read_text())
    for decoding, caption in decodings.items():
        if decoding not in found[name]:
            found[name][decoding] = captioned(name, caption, meteor=meteor)
            write_json(results, found)


@dataclass
class Watched:
    """Progress that also scores the beam after every epoch, whose time is not that of training."""

    progress: Progress
    score: Callable[[], float]
    scores: list[float | None] = field(default_factory=list)  # none of the epochs of an earlier start
    spent: Counter[str] = field(default_factory=Counter)
    earlier: int = 0  # epochs of an earlier start, whose time nobody took

    def advance(self, steps: int = 1, note: str = "") -> None:
        if note and steps:  # an epoch has just ended; within one, where dropout is on, only notes come
            score, seconds = timed(self.score)
            self.scores.append(round(score, 4))
            self.spent.update(seconds)
        elif steps:
            self.earlier += steps
            self.scores += [None] * steps
        self.progress.advance(steps, note)


def trained(name: str, run: Train, params: Params, *, console: Console) -> dict[str, Any]:
    trainer = prepare(run, captions=CAPTIONS, max_words=params.assemble.max_words, device="cpu")
    with console.progress(name, sum(stage.epochs for stage in run.stages)) as progress:
        watched = Watched(progress, lambda: trainer.validate(beam=params.caption.beam))
        history, seconds = timed(lambda: trainer.run(watched))
    publish_run(Path("runs") / name, name, trainer, history)
    captions = [captions_an_epoch(trainer, run.stages[line.stage - 1]) for line in history.epochs]
    return {
        "parameters": sum(weights.numel() for weights in trainer.model.parameters()),
        "captions": sum(captions),
        "timed_captions": sum(captions[watched.earlier :]),
        "training": {unit: round(value - watched.spent[unit], DIGITS) for unit, value in seconds.items()},
        "curve": [[line.stage, round(line.train_loss, 4), round(line.val_cider, 4)] for line in history.epochs],
        "beam_curve": watched.scores,
        "reward": [round(line.reward, 4) for line in history.epochs if line.reward is not None],
        "best_epoch": history.best.epoch,
        "start_from": run.start_from,
    }


def captions_an_epoch(trainer: Trainer, stage: Schedule) -> int:
    """Captions learnt from, or sampled captions: with `samples`, as many for a video whose captions lie together."""
    limit, corpus = trainer.settings.captions_per_video, trainer.corpus
    counts = [len(corpus.captions[video]) for video in corpus.splits["train"]]
    drawn = stage.samples if stage.rewards and limit else 0
    return sum(drawn or min(count, limit or count) for count in counts)


def captioned(name: str, caption: Caption, *, meteor: bool) -> dict[str, Any]:
    """Scores and speed on the split that it names."""
    run, corpus = open_run(Path("runs") / name, device="cpu"), read_corpus(CAPTIONS)
    videos = corpus.splits[caption.split]
    search = chosen_search(caption, vocabulary=run.vocabulary, captions=CAPTIONS, training=run.source, own=run.source)
    generated, seconds = timed(
        lambda: caption_videos(run.model, run.source, videos, vocabulary=run.vocabulary, search=search)
    )
    sentences = {video: each.caption for video, each in generated.items()}
    scores = score(sentences, corpus.references(caption.split), meteor=meteor).corpus
    distinct = len(set(sentences.values()))
    return {"scores": scores, "search": seconds, "videos": len(videos), "distinct": distinct}


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    seconds = {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}
    return result, {unit: round(value, DIGITS) for unit, value in seconds.items()}


def summary(found: dict[str, Any]) -> str:
    numbers = "  ".join(f"{metric} {100 * value:.1f}" for metric, value in found["beam"]["scores"].items())
    return f"{numbers}  {learnt_a_second(found):.0f} captions/s  {searched_a_second(found):.0f} videos/s"


def learnt_a_second(found: dict[str, Any]) -> float:
    return found.get("timed_captions", found["captions"]) / found["training"]["processor_seconds"]


def searched_a_second(found: dict[str, Any]) -> float:
    return found["beam"]["videos"] / found["beam"]["search"]["processor_seconds"]


def show(results: dict[str, Any], console: Console) -> None:
    """Mean over the seeds, and half the distance from the worst to the best; speeds as means."""
    runs: dict[str, list[dict[str, Any]]] = {}
    scored = {name: found for name, found in results.items() if "beam" in found}  # of others, training was all so far
    for name, found in scored.items():
        runs.setdefault(name.rpartition("-")[0], []).append(found)
    metrics = list(next(iter(scored.values()))["beam"]["scores"])
    rows = [[run, len(found), *_columns(found, metrics)] for run, found in runs.items()]
    columns = (*metrics, "CIDEr-D, greedy", "different", "captions/s", "videos/s")
    console.table(["run", "seeds", *columns], rows)
    for decoding in _decodings(scored):
        told = {run: [each[decoding]["scores"] for each in found if decoding in each] for run, found in runs.items()}
        rows = [[run, len(found), *_spreads(found, metrics)] for run, found in told.items() if found]
        console.table(["run", "seeds", *metrics], rows, title=f"\n{decoding}")


def _decodings(scored: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Ways to decode beside the beam, in the order in which they were asked for."""
    kinds = {
        key: None
        for found in scored.values()
        for key, value in found.items()
        if isinstance(value, dict) and "scores" in value
    }
    return [kind for kind in kinds if kind not in ("beam", "greedy")]


def _columns(found: Sequence[dict[str, Any]], metrics: Sequence[str]) -> list[str]:
    """`different`: sentences of the beam that are not alike."""
    scores = _spreads([each["beam"]["scores"] for each in found], metrics)
    greedy = _spread([each["greedy"]["scores"]["CIDEr-D"] for each in found])
    means = (
        [each["beam"]["distinct"] for each in found],
        [learnt_a_second(each) for each in found],
        [searched_a_second(each) for each in found],
    )
    return [*scores, greedy, *(f"{mean(values):.0f}" for values in means)]


def _spreads(scores: Sequence[Mapping[str, float]], metrics: Sequence[str]) -> list[str]:
    return [_spread([each.get(metric) for each in scores]) for metric in metrics]


def _spread(values: Sequence[float | None]) -> str:
    known = [100 * value for value in values if value is not None]
    return f"{mean(known):.1f} ± {(max(known) - min(known)) / 2:.1f}" if known else "-"


if __name__ == "__main__":
    raise SystemExit(main())
