"""The cheapest extractor of windows: the mean colour of a window's frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from tests.store.families.toy import Toy

VERSION = 1
TAKES = "clips"


class ToyClips(Toy):
    takes = "clips"

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"colour": batch.mean((1, 2, 3))}


def build(
    network: str, *, outputs: Sequence[str], weights: Mapping[str, torch.Tensor] | None, window: int, device: str
) -> ToyClips:
    return ToyClips(["colour"], brightness=1.0)
