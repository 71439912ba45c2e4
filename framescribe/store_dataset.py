"""`framescribe.StoreDataset`: feature stores as a data set of torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from pipeline.captioner import padded
from pipeline.core import InputError, printable
from pipeline.store import Store, VideoFeatures, open_store

Place = str | Path | Store
MASK = "rows.mask"  # (rows,) whether there is anything in a row: of sound that is missing, there is not


class StoreDataset(Dataset[dict[str, Tensor]]):
    """The videos that all stores have; an item is a dictionary of tensors.

    Of one store: each tensor (rows, ...) by its name, `rows.start` and `rows.end` in seconds, `rows.mask`, and `index`,
    the video's place in `videos`. Of several, given as {name: store}: the same names after `name.`.
    """

    def __init__(
        self,
        stores: Place | Mapping[str, Place],
        *,
        videos: Sequence[str] | None = None,
        tensors: Sequence[str] | None = None,
    ) -> None:
        several = isinstance(stores, Mapping) and not isinstance(stores, Store)
        named = {f"{name}.": each for name, each in stores.items()} if several else {"": stores}  # type: ignore[union-attr]
        self.stores = {prefix: _opened(each) for prefix, each in named.items()}  # type: ignore[arg-type]
        self.tensors = tensors  # those to read; all when not given
        self.videos = self._everywhere() if videos is None else list(videos)
        self._require()

    def __len__(self) -> int:
        return len(self.videos)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        item = {"index": torch.tensor(range(len(self))[index])}
        for prefix, store in self.stores.items():
            found = self._arrays(store[self.videos[index]])
            item |= {prefix + name: torch.tensor(array) for name, array in found.items()}
        return item

    def _arrays(self, video: VideoFeatures) -> dict[str, np.ndarray]:
        names = [name for name in video if self.tensors is None or name in self.tensors]
        rows = {"rows.start": video.rows.start, "rows.end": video.rows.end, MASK: video.rows.valid > 0}
        return {name: video[name] for name in names} | rows

    def _everywhere(self) -> list[str]:
        first, *others = self.stores.values()
        return [video for video in first if all(video in store for store in others)]

    def _require(self) -> None:
        """Here rather than in a worker, after an hour of training."""
        for store in self.stores.values():
            if missing := [video for video in self.videos if video not in store]:
                raise InputError(f"{store.folder} has no video '{printable(missing[0])}' ({len(missing)} are missing)")
        known = {name for store in self.stores.values() for name in store.manifest["outputs"]}
        if unknown := [name for name in self.tensors or () if name not in known]:
            raise InputError(f"no store has a tensor '{unknown[0]}'; there are: {', '.join(sorted(known))}")
        if not self.videos:
            raise InputError("there is no video that all of these stores have")


def _opened(place: Place) -> Store:
    return place if isinstance(place, Store) else open_store(place)


def pad_and_mask(items: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """For `collate_fn`: a batch (videos, most rows, ...), zeros after shorter videos, where `rows.mask` is False."""
    return {name: _together([item[name] for item in items]) for name in items[0]}


def _together(tensors: list[Tensor]) -> Tensor:
    return padded(tensors) if tensors[0].dim() else torch.stack(tensors)
