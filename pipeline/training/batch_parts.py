"""A batch cut into parts that are computed apart and whose gradients are added.

How it is cut, and which random numbers a part draws, is decided by params alone and never by who computes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pipeline.captioner import CaptionBatch
from pipeline.corpus import PAD


@dataclass(frozen=True)
class BatchPart:
    """Some captions of a batch, and all that their loss needs to know of the rest."""

    captions: CaptionBatch
    words: int  # in the whole batch, over which a loss is a mean
    seed: int | None  # of dropout and samples; None: the random numbers go on where they were
    tables: dict[str, Tensor]  # the model's own, of these captions alone, (N,) each


def cut_in_parts(
    batch: CaptionBatch, count: int, *, tables: Mapping[str, Tensor], seed: Sequence[int]
) -> list[BatchPart]:
    """Parts with about as many words each; fewer where there are fewer videos.

    A video's captions stay together: it is encoded once, and sentences drawn for it are compared with each other. One
    part alone goes on with the random numbers of the epoch; of several each has its own.
    """
    words = int((batch.words != PAD).sum())
    part_of = _part_of_video(batch, count)  # (B,)
    found = []
    for number in part_of.unique().tolist():
        captions = _captions_of(batch, part_of == number)
        rows = {name: table[captions.pairs.to(table.device)].cpu() for name, table in tables.items()}
        found.append(BatchPart(captions, words, part_seed(*seed, number) if count > 1 else None, rows))
    return found


def _part_of_video(batch: CaptionBatch, count: int) -> Tensor:
    """Where the middle of a video's words lies among all words, in whole numbers."""
    words = torch.zeros(len(batch.video_ids), dtype=torch.long)
    words = words.index_add(0, batch.video_of, (batch.words != PAD).sum(1))  # (B,)
    return (2 * words.cumsum(0) - words) * count // (2 * words.sum())


def _captions_of(batch: CaptionBatch, chosen: Tensor) -> CaptionBatch:
    row = chosen.cumsum(0) - 1  # (B,) of a chosen video among the chosen
    captions = chosen[batch.video_of]  # (N,)
    ids = [video_id for video_id, here in zip(batch.video_ids, chosen.tolist(), strict=True) if here]
    return CaptionBatch(ids, row[batch.video_of[captions]], batch.words[captions], batch.pairs[captions])


def part_seed(*numbers: int) -> int:
    """Of the run's seed, epoch, step and part; well mixed, for torch's generator knows 32 bits of it."""
    return int(np.random.SeedSequence([number % 2**64 for number in numbers]).generate_state(1)[0])


def note_rows(tables: dict[str, Tensor], rows: dict[str, Tensor], pairs: Tensor, *, total: int, device: str) -> None:
    """What a model has noted of these captions; NaN stands for those that it has not seen yet."""
    for name, values in rows.items():
        if name not in tables:
            tables[name] = torch.full((total,), torch.nan, dtype=values.dtype, device=device)
        tables[name][pairs.to(device)] = values.to(device)
