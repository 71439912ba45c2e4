"""Settings that fit a small set: of a handful of captions, a schedule made for thousands is a step or two an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from pipeline.params import PARAMS_FILE, Params, Train, insert

STEPS = 400  # updates from which sentences come out; docs/datasets.md has the clips that it was tried with
EPOCH_STEPS = 8  # an epoch has so many, unless its batches would have fewer captions than
FEWEST = 4
TOO_MANY = 10 * STEPS  # with a patience for all epochs: written for fewer captions
RARE = 1000  # captions below which every word is rare, and none can be spared


def fit_settings(document: Any, params: Params, *, captions: Sequence[int]) -> list[str]:
    """Change `document`, whose values are `params`, to suit so many captions of each training video; tell of it."""
    told = []
    if sum(captions) < RARE and params.assemble.min_count > 1:
        told.append(_changed(document["assemble"], {"min_count": 1}, params.assemble.model_dump(), "assemble"))
    for name, run in params.train.items():
        if changes := fitting(run, captions=captions):
            told.append(_changed(document["train"][name], changes, run.model_dump(), f"train.{name}"))
    return told


def fitting(run: Train, *, captions: Sequence[int]) -> dict[str, int]:
    """The keys of a run that change so that it takes enough steps: none, if it does."""
    an_epoch = _of_an_epoch(run, captions)
    if ceil(an_epoch / run.batch_size) * sum(stage.epochs for stage in run.stages) >= STEPS:
        return {}
    batch = min(run.batch_size, max(FEWEST, _power_of_two(an_epoch // EPOCH_STEPS)))
    epochs = max(run.epochs, ceil(STEPS / ceil(an_epoch / batch)))
    # The scores of a few validation videos rise late and by jumps: all epochs are tried.
    wanted = {"batch_size": batch, "epochs": epochs, "patience": max(run.patience, epochs)}
    return {key: value for key, value in wanted.items() if value != getattr(run, key)}


def outgrown(runs: Mapping[str, Train], *, captions: Sequence[int]) -> list[str]:
    """What a schedule that was fitted to a smaller set would cost; the values of before are not known here."""
    told = []
    for name, run in runs.items():
        steps = ceil(_of_an_epoch(run, captions) / run.batch_size) * run.epochs
        if run.patience >= run.epochs and steps > TOO_MANY:
            told.append(
                f"train.{name}: batch_size {run.batch_size} and epochs {run.epochs} are {steps:,} steps of"
                f" {sum(captions):,} captions; if a smaller set left them: git diff {PARAMS_FILE}"
            )
    return told


def _of_an_epoch(run: Train, captions: Sequence[int]) -> int:
    return sum(min(each, run.captions_per_video or each) for each in captions)


def _power_of_two(number: int) -> int:
    """The largest that is not above it."""
    return 1 << max(number.bit_length() - 1, 0)


def _changed(section: Any, changes: Mapping[str, int], before: Mapping[str, Any], name: str) -> str:
    for key, value in changes.items():
        if key in section:
            section[key] = value
        else:
            insert(section, key, value)
    return f"{name}: {', '.join(f'{key} {before[key]} → {value}' for key, value in changes.items())}"
