"""Late fusion: captions of several runs, and a reranker that takes one for each video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.captioner import open_run
from pipeline.captioning.caption_model import JoinedSource
from pipeline.captioning.reranker import Reranker, RerankerSettings, train_reranker
from pipeline.core import Console, InputError, UsageError, write_sealed_json
from pipeline.corpus import read_corpus, read_vocabulary
from pipeline.params import load_params
from pipeline.predictions import (
    FUSED,
    parse_name,
    prediction_name,
    read_prediction_file,
    read_run_predictions,
    write_fusion_origin,
)

PredictionEntries = dict[str, dict[str, Any]]  # video id -> what `framescribe caption` wrote


@dataclass(frozen=True)
class Candidates:
    split: str
    by_run: dict[str, PredictionEntries]


def fuse_runs(
    runs: Sequence[str], *, captions: Path, out: Path | None, epochs: int, seed: int, device: str, console: Console
) -> dict[str, Any]:
    """Train a reranker on what the runs read, and write the caption that it prefers for each video."""
    if len(set(runs)) < 2:
        raise UsageError(f"fusion is of two runs or more, got {', '.join(runs)}")
    if epochs < 1:
        raise UsageError(f"--epochs is {epochs}, allowed: 1 or more")
    files = {name: Path("predictions") / f"{name}.json" for name in runs}
    candidates = read_candidates(files)
    settings = RerankerSettings(epochs=epochs, seed=seed)
    reranker, rank = _trained(runs, captions=captions, settings=settings, device=device, console=console)
    chosen = fuse(candidates.by_run, reranker)
    name = fusion_name(runs)
    out = out or Path("predictions") / f"{name}.json"
    write_sealed_json(out, {"run": name, "split": candidates.split, "validation_rank": rank, "predictions": chosen})
    write_fusion_origin(out, candidates=files, settings={"epochs": epochs, "seed": seed})
    shares = {run: sum(entry["run"] == run for entry in chosen.values()) for run in runs}
    console.say(f"{out}: {len(chosen)} captions, {', '.join(f'{count} of {run}' for run, count in shares.items())}")
    return {"run": name, "videos": len(chosen), "chosen": shares, "validation_rank": rank}


def fusion_name(runs: Sequence[str]) -> str:
    """Of predictions on other videos than the stage's, these stand once, at the end."""
    names = [parse_name(name) for name in runs]
    return prediction_name(FUSED.join(name.run for name in names), videos=names[0].videos)


def _trained(
    runs: Sequence[str], *, captions: Path, settings: RerankerSettings, device: str, console: Console
) -> tuple[Reranker, float]:
    """On the features of all runs, an ensemble's members among them."""
    members = dict.fromkeys(member for name in runs for member in parse_name(name).run.split("+"))
    sources = [open_run(Path("runs") / member, device=device).source for member in members]
    with console.progress("train the embedding", settings.epochs) as progress:
        return train_reranker(
            read_corpus(captions),
            read_vocabulary(captions / "vocabulary.json"),  # the reranker's own: runs may have any
            JoinedSource(sources),
            settings=settings,
            max_words=load_params().assemble.max_words,
            device=device,
            progress=progress,
        )


def read_candidates(files: Mapping[str, Path]) -> Candidates:
    """Predictions of every run; they must be of the same videos."""
    splits = {run: read_run_predictions(path, run=run)[0] for run, path in files.items()}
    by_run = {run: read_prediction_file(path, run=run)["predictions"] for run, path in files.items()}
    first = next(iter(files))
    for run in files:
        if splits[run] != splits[first] or by_run[run].keys() != by_run[first].keys():
            raise InputError(
                f"{files[run]} and {files[first]} are of different videos", hint=f"framescribe caption {run}"
            )
    return Candidates(splits[first], by_run)


def fuse(by_run: Mapping[str, PredictionEntries], reranker: Reranker) -> PredictionEntries:
    """For each video the entry of the run whose caption is most similar, with its name and the similarity of each."""
    runs = [*by_run]
    chosen: PredictionEntries = {}
    for video in by_run[runs[0]]:
        captions = {run: by_run[run][video]["caption"] for run in runs}
        similar = dict(zip(runs, reranker.similarities(video, [*captions.values()]).tolist(), strict=True))
        best = max(runs, key=lambda run: (bool(captions[run]), similar[run]))  # an empty caption fits no video
        rounded = {run: round(value, 4) for run, value in similar.items()}
        chosen[video] = by_run[best][video] | {"run": best, "similarities": rounded}
    return chosen
