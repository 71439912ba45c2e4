"""What a stage takes away from the features of a batch, anew at every step: small sets are else learnt by heart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from models.base import Features, Input, Modality
from pipeline.core import UsageError
from pipeline.params import Schedule


def require_slots(stages: list[Schedule], inputs: Mapping[str, Input]) -> None:
    """A store that is the only one is never taken away."""
    if any(stage.slot_dropout for stage in stages) and len({each.slot for each in inputs.values()}) < 2:
        raise UsageError("slot_dropout takes whole stores away, and the run reads only one; set it to 0")


def regularised(features: Features, stage: Schedule, inputs: Mapping[str, Input]) -> Features:
    """Draws nothing where the stage asks for nothing."""
    if stage.frame_dropout:
        features = fewer_rows(features, stage.frame_dropout)
    if stage.slot_dropout:
        features = fewer_slots(features, stage.slot_dropout, {name: each.slot for name, each in inputs.items()})
    if stage.feature_dropout:
        rate = stage.feature_dropout
        features = {name: replace(each, values=F.dropout(each.values, rate)) for name, each in features.items()}
    return features


def fewer_rows(features: Features, rate: float) -> Features:
    """Each row is left out with this probability, but never all of a video: the others move together.

    Rows of the same number go or stay in all stores: where they stand for the same time they still do.
    """
    longest = max(features.values(), key=lambda each: each.mask.shape[1])
    drawn = torch.rand(longest.mask.shape, device=longest.mask.device)  # (B, L)
    return {name: _rows_kept(each, drawn[:, : each.mask.shape[1]], rate) for name, each in features.items()}


def _rows_kept(rows: Modality, drawn: Tensor, rate: float) -> Modality:
    kept = _kept(drawn, rows.mask, rate)
    order = kept.int().argsort(dim=1, descending=True, stable=True)[:, : max(1, int(kept.sum(1).max()))]  # (B, l)
    videos = torch.arange(len(order), device=order.device).unsqueeze(1)
    seconds = None if rows.seconds is None else rows.seconds[videos, order]
    return Modality(rows.values[videos, order], kept[videos, order], seconds)


def fewer_slots(features: Features, rate: float, slots: Mapping[str, str]) -> Features:
    """Each store is taken from a video with this probability, but never the last one that has rows of it."""
    names = sorted(set(slots.values()))
    there = {slot: [each.mask.any(1) for name, each in features.items() if slots[name] == slot] for slot in names}
    present = torch.stack([torch.stack(each).any(0) for each in there.values()], 1)  # (B, slots)
    kept = _kept(torch.rand(present.shape, device=present.device), present, rate)
    return {name: _only(each, kept[:, names.index(slots[name])]) for name, each in features.items()}


def _only(rows: Modality, kept: Tensor) -> Modality:
    """Rows of the videos that keep them, (B,)."""
    values = rows.values * kept.view(-1, *[1] * (rows.values.dim() - 1))
    return replace(rows, values=values, mask=rows.mask & kept.unsqueeze(1))


def _kept(drawn: Tensor, present: Tensor, rate: float) -> Tensor:
    """Of what is present (B, n) what is drawn above the rate, and the highest in any case."""
    drawn = drawn.masked_fill(~present, -1.0)
    highest = F.one_hot(drawn.argmax(1), drawn.shape[1]).bool()
    return ((drawn >= rate) | highest) & present
