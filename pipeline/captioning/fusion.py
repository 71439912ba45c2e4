"""Late fusion: sentences of several runs, and a judge that takes one for each video."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.captioning.reranker import Judge
from pipeline.core import InputError, read_json
from pipeline.results import read_run_predictions

Said = dict[str, dict[str, Any]]  # video id -> what `framescribe caption` wrote


@dataclass(frozen=True)
class Candidates:
    split: str
    by_run: dict[str, Said]


def read_candidates(files: Mapping[str, Path]) -> Candidates:
    """Predictions of every run; they must be of the same videos."""
    splits = {run: read_run_predictions(path, run=run)[0] for run, path in files.items()}
    by_run: dict[str, Said] = {run: read_json(path)["predictions"] for run, path in files.items()}
    first = next(iter(files))
    for run in files:
        if splits[run] != splits[first] or by_run[run].keys() != by_run[first].keys():
            raise InputError(
                f"{files[run]} and {files[first]} are of different videos", hint=f"framescribe caption {run}"
            )
    return Candidates(splits[first], by_run)


def fuse(by_run: Mapping[str, Said], judge: Judge) -> Said:
    """For each video the entry of the run whose sentence is most similar; it says which, and how similar each was."""
    runs = [*by_run]
    chosen: Said = {}
    for video in by_run[runs[0]]:
        said = {run: by_run[run][video]["caption"] for run in runs}
        similar = dict(zip(runs, judge.similarities(video, [*said.values()]).tolist(), strict=True))
        best = max(runs, key=lambda run: (bool(said[run]), similar[run]))  # to say nothing fits no video
        rounded = {run: round(value, 4) for run, value in similar.items()}
        chosen[video] = by_run[best][video] | {"run": best, "similarities": rounded}
    return chosen
