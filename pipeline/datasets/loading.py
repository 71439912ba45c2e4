"""A data set's own annotations, by its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pipeline.core import InputError, UsageError
from pipeline.datasets.annotations import Annotations
from pipeline.datasets.msrvtt import load_msrvtt
from pipeline.datasets.msvd import load_msvd
from pipeline.datasets.mvad import load_mvad
from pipeline.datasets.plain_folder import load_plain_folder
from pipeline.datasets.vatex import load_vatex
from pipeline.params import Dataset

SUBSET = "`framescribe dataset use ... --subset` fills it from the others"

# data set → split rule → how its annotations are read
LOADERS: dict[str, dict[str, Callable[[Path], Annotations]]] = {
    "demo": {"standard": partial(load_msrvtt, rule="file")},
    "msrvtt": {rule: partial(load_msrvtt, rule=rule) for rule in ("standard", "dualafr", "file")},
    "msvd": {"standard": load_msvd},
    "vatex": {"standard": load_vatex, "chinese": partial(load_vatex, chinese=True)},
    "mvad": {"standard": load_mvad},
    "folder": {"standard": load_plain_folder},
}

WITH_CLASSES = ("demo", "msrvtt")  # whose annotations may give each video a class


def load_annotations(dataset: Dataset) -> Annotations:
    rules = LOADERS[dataset.name]
    if dataset.split not in rules:
        known = ", ".join(rules)
        raise UsageError(f"dataset.split: '{dataset.name}' has no split rule '{dataset.split}'; it has: {known}")
    path = Path(dataset.annotations)
    if not path.exists():
        raise InputError(
            f"dataset.annotations: {path} does not exist",
            hint="`framescribe demo-data` makes the demo set"
            if dataset.name == "demo"
            else f"`framescribe dataset use {dataset.name} --videos DIR --annotations PATH`",
        )
    annotations = rules[dataset.split](path)
    for split in ("train", "val"):  # val chooses the epoch; only test may be absent
        if not (annotations.splits[split] or dataset.subset):
            raise InputError(f"{path}: there is no {split} video under the split rule '{dataset.split}'", hint=SUBSET)
    return annotations
