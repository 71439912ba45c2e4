"""The project in this folder: its params.yaml, and the data set and the weights that it names."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from pipeline import datasets, params, weights
from pipeline.core import FramescribeError, UsageError
from pipeline.doctor import foresight
from pipeline.doctor.check import Check
from pipeline.remote import is_listing, read_listing


def check_params() -> list[Check]:
    values = params.load_params()  # what is wrong with it is this check's finding
    detail = f"data set {values.dataset.name}, {len(values.extract)} extractor(s), {len(values.train)} run(s)"
    return [Check(name="params.yaml", state="ok", detail=detail)]


def _valid_params() -> params.Params | None:
    try:
        return params.load_params()
    except FramescribeError:
        return None


def check_dataset() -> list[Check]:
    values = _valid_params()
    if values is None:
        return []
    dataset, name = values.dataset, f"data set {values.dataset.name}"
    switch = f"framescribe dataset use {dataset.name} --videos DIR --annotations FILE"
    fix = "framescribe demo-data" if dataset.name == "demo" else switch
    absent = partial(Check, name=name, state="missing", blocks="decode, assemble")
    files = _count_videos(Path(dataset.videos))
    if not files:
        return [absent(detail=f"no videos in {dataset.videos}", fix=fix)]
    try:
        divided = datasets.splits_in_use(dataset, datasets.load_annotations(dataset))
    except FramescribeError as error:
        return [absent(detail=error.message, fix=error.hint or fix)]
    splits = ", ".join(f"{len(videos)} {split}" for split, videos in divided.items())
    filled = " (a subset: empty splits take from the others)" if dataset.subset else ""
    return [Check(name=name, state="ok", detail=f"{files} files in {dataset.videos}; {splits}{filled}")]


def _count_videos(folder: Path) -> int:
    if is_listing(folder):
        return len(read_listing(folder))
    return sum(file.is_file() for file in os.scandir(folder)) if folder.is_dir() else 0


def check_planned() -> list[Check]:
    values = _valid_params()
    return foresight.check_plan(values) if values else []


def check_weights() -> list[Check]:
    """Those that params.yaml needs; `framescribe weights list` has all."""
    values = _valid_params()
    users: dict[str, list[str]] = {}
    for extractor, section in (values.extract if values else {}).items():
        if section.weights not in weights.WITHOUT_FILE:
            users.setdefault(section.weights, []).append(f"extract@{extractor}")
    return [_one_weights(name, stages) for name, stages in users.items()]


def _one_weights(name: str, stages: list[str]) -> Check:
    absent = partial(Check, name=f"weights {name}", state="missing", blocks=", ".join(stages))
    try:
        state, entry = weights.status(name), weights.entry(name)
    except UsageError as error:
        return absent(detail=error.message, fix="edit params.yaml")
    terms = "; ".join([entry.licence, *weights.conditions(name)])
    if state != "present":
        return absent(detail=f"{state}: {entry.description} ({terms})", fix=weights.fetch_command(name))
    return Check(name=f"weights {name}", state="ok", detail=f"{entry.description} ({entry.licence})")
