"""Data sets: from their own annotation files to splits of video ids with sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.datasets.annotations import SPLITS, Annotations, named
from pipeline.datasets.corpus import Corpus, read_corpus, write_corpus
from pipeline.datasets.matching import Match, match_videos, require_match
from pipeline.datasets.msrvtt import load_msrvtt
from pipeline.errors import InputError, UsageError
from pipeline.params import Dataset

__all__ = [
    "LOADERS",
    "SPLITS",
    "Annotations",
    "Corpus",
    "Match",
    "load_annotations",
    "match_videos",
    "named",
    "read_corpus",
    "require_match",
    "write_corpus",
]


@dataclass(frozen=True)
class Loader:
    load: Callable[..., Annotations]  # (path, *, rule)
    rules: dict[str, str]  # what params.yaml calls a split rule → what the loader calls it


LOADERS = {
    "demo": Loader(load_msrvtt, {"standard": "file"}),
    "msrvtt": Loader(load_msrvtt, {"standard": "standard", "dualafr": "dualafr", "file": "file"}),
}


def load_annotations(dataset: Dataset) -> Annotations:
    loader = LOADERS[dataset.name]
    if dataset.split not in loader.rules:
        known = ", ".join(loader.rules)
        raise UsageError(f"dataset.split: '{dataset.name}' has no split rule '{dataset.split}'; it has: {known}")
    path = Path(dataset.annotations)
    if not path.exists():
        raise InputError(
            f"dataset.annotations: {path} does not exist",
            hint="`framescribe demo-data` makes the demo set"
            if dataset.name == "demo"
            else f"`framescribe dataset use {dataset.name} --videos DIR --annotations PATH`",
        )
    annotations = loader.load(path, rule=loader.rules[dataset.split])
    if not annotations.splits["train"]:
        raise InputError(f"{path}: there is no training video under the split rule '{dataset.split}'")
    return annotations
