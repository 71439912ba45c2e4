"""What training and search read: captions as numbers, and padded feature batches from the stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.base import Features, Input, Modality
from pipeline.core import InputError, printable
from pipeline.corpus import PAD, Corpus, Vocabulary
from pipeline.params import Slots
from pipeline.store import Rows, Store, VideoFeatures, not_finite, open_store

ROWS = {1: "a vector", 2: "regions", 3: "a map", 4: "a map in time"}  # by the number of their axes


class FeatureBatches(Protocol):
    """Features of videos as a padded batch, from one run's stores or from several."""

    def batch(self, video_ids: Sequence[str], *, device: str = "cpu") -> Features: ...


@dataclass(frozen=True)
class FeatureSource:
    """The stores of a run as padded batches."""

    stores: Mapping[str, Store]  # slot -> store
    inputs: Mapping[str, Input]  # what the model reads and the run has
    _seen: set[tuple[str, str, str]] = field(default_factory=set, repr=False, compare=False)  # known to be numbers

    @property
    def sizes(self) -> dict[str, int]:
        """Channels of each input."""
        return {name: self._shape(wanted)[-1] for name, wanted in self.inputs.items()}

    def batch(self, video_ids: Sequence[str], *, device: str = "cpu") -> Features:
        return {name: self._modality(wanted, video_ids, device) for name, wanted in self.inputs.items()}

    def _shape(self, wanted: Input) -> list[int]:
        return self.stores[wanted.slot].manifest["outputs"][wanted.tensor]["shape"] or [1]

    def _modality(self, wanted: Input, video_ids: Sequence[str], device: str) -> Modality:
        videos = [self.stores[wanted.slot][video_id] for video_id in video_ids]
        for video_id, video in zip(video_ids, videos, strict=True):
            self._require_numbers(wanted, video_id, video)
        rows = [torch.tensor(video[wanted.tensor], dtype=torch.float32) for video in videos]
        real = [torch.tensor(video.rows.valid > 0) for video in videos]  # sound that is missing is no row to look at
        seconds = [torch.from_numpy(middles(video.rows)) for video in videos]
        return Modality(*(padded(each).to(device) for each in (rows, real, seconds)))  # padding is False

    def _require_numbers(self, wanted: Input, video_id: str, video: VideoFeatures) -> None:
        """When it is first read: one NaN makes every weight NaN."""
        place = (wanted.slot, wanted.tensor, video_id)
        if place in self._seen:
            return
        if found := not_finite({wanted.tensor: video[wanted.tensor]}):
            folder = self.stores[wanted.slot].folder
            raise InputError(f"{folder}, '{printable(video_id)}': {found}", hint=f"framescribe store verify {folder}")
        self._seen.add(place)


def middles(rows: Rows) -> np.ndarray:
    """Seconds (R,); rows whose times nobody wrote down take a second each."""
    known = (rows.start + rows.end) / 2
    return np.where(np.isnan(known), np.arange(len(rows)) + 0.5, known).astype(np.float32)


def padded(videos: list[Tensor]) -> Tensor:
    """One after the other, zeros after the shorter ones; of videos too short for any row, one row of them."""
    batch = pad_sequence(videos, batch_first=True)  # (B, L, ...)
    return batch if batch.shape[1] else batch.new_zeros(len(videos), 1, *batch.shape[2:])


def open_features(slots: Slots, wanted: Mapping[str, Input], *, folder: Path = Path("features")) -> FeatureSource:
    """The stores of what a model reads; an input that it needs but was not given, or a missing tensor, is an error."""
    given = {name: each for name, each in wanted.items() if "none" not in (getattr(slots, each.slot), each.tensor)}
    for name, each in wanted.items():
        if name not in given and not each.optional:
            raise InputError(
                f"the model reads '{each.slot}', but the run gives it no store", hint=f"set features.{each.slot}"
            )
    stores = {slot: open_store(folder / getattr(slots, slot)) for slot in {each.slot for each in given.values()}}
    for name, each in given.items():
        _require_tensor(name, stores[each.slot], each)
    return FeatureSource(stores, given)


def _require_tensor(name: str, store: Store, wanted: Input) -> None:
    """Refused before training, where another shape would be an error of torch."""
    shapes = {tensor: output["shape"] for tensor, output in store.manifest["outputs"].items()}
    fitting = [tensor for tensor, shape in shapes.items() if len(shape) in wanted.axes]
    if wanted.tensor not in shapes:
        raise InputError(
            f"the model reads '{wanted.tensor}' for '{wanted.slot}'; {store.folder} has: {', '.join(shapes)}",
            hint=_where_from(name, store, wanted, fitting),
        )
    if wanted.tensor in fitting:
        return
    raise InputError(
        f"for '{wanted.slot}' the model reads {' or '.join(ROWS[axes] for axes in wanted.axes)} per row;"
        f" '{wanted.tensor}' of {store.folder} has the shape {shapes[wanted.tensor]}",
        hint=f"name another tensor in the run's `tensors`; of this store fit: {', '.join(fitting) or 'none'}",
    )


def _where_from(name: str, store: Store, wanted: Input, fitting: Sequence[str]) -> str:
    """Nothing makes imported features again: they have other names, or were given one."""
    another = f"tensors: {{{name}: {fitting[0]}}} in the run's entry reads that one" if fitting else ""
    if "imported" in store.fingerprint:
        shapes = ", ".join(f"'{tensor}' has {each['shape']}" for tensor, each in store.manifest["outputs"].items())
        takes = " or ".join(ROWS[axes] for axes in wanted.axes)
        return another or f"'{name}' takes {takes} per row, {shapes}: import arrays of another shape"
    made = f"add '{wanted.tensor}' to extract.{store.folder.name}.outputs"
    return f"{made}, or {another}" if another else made


@dataclass(frozen=True)
class CaptionBatch:
    """Captions of a few videos; each video's features appear once, however many captions it has here."""

    video_ids: list[str]
    video_of: Tensor  # (N,) row of `video_ids` that each caption describes
    words: Tensor  # (N, T) targets, ending in EOS, padded with PAD
    pairs: Tensor  # (N,) number of each in the training set


@dataclass(frozen=True)
class TrainingPairs:
    """Every (video, caption) pair of the training split."""

    video_ids: list[str]
    words: list[list[int]]

    def __len__(self) -> int:
        return len(self.words)

    def batches(self, size: int, *, seed: int, per_video: int = 0) -> Iterator[CaptionBatch]:
        """All pairs once, in an order that the seed decides; or `per_video` of each video, which lie together."""
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(self), generator=generator).tolist()
        if per_video:
            order = self._together(order, per_video, generator)
        for start in range(0, len(order), size):
            yield self._batch(order[start : start + size])

    def steps(self, size: int, *, per_video: int = 0) -> int:
        """How many batches that makes."""
        shown = [min(count, per_video or count) for count in Counter(self.video_ids).values()]
        return -(-sum(shown) // size)

    def _together(self, order: Sequence[int], per_video: int, generator: torch.Generator) -> list[int]:
        """The first few pairs of each video, and the videos in an order of their own: some have more captions."""
        chosen: dict[str, list[int]] = {}
        for pair in order:
            if len(found := chosen.setdefault(self.video_ids[pair], [])) < per_video:
                found.append(pair)
        groups = list(chosen.values())
        return [pair for row in torch.randperm(len(groups), generator=generator).tolist() for pair in groups[row]]

    def _batch(self, chosen: Sequence[int]) -> CaptionBatch:
        videos = sorted({self.video_ids[pair] for pair in chosen})
        place = {video_id: row for row, video_id in enumerate(videos)}
        words = pad_sequence(
            [torch.tensor(self.words[pair]) for pair in chosen], batch_first=True, padding_value=PAD
        )  # (N, T)
        video_of = torch.tensor([place[self.video_ids[pair]] for pair in chosen])
        return CaptionBatch(videos, video_of, words, torch.tensor(chosen))


def training_pairs(corpus: Corpus, vocabulary: Vocabulary, *, max_words: int) -> TrainingPairs:
    pairs = [
        (video_id, vocabulary.encode(corpus.cut(caption)[:max_words]))
        for video_id in corpus.splits["train"]
        for caption in corpus.captions[video_id]
    ]
    if not pairs:
        raise InputError("the training split has no captions", hint="framescribe dataset show")
    return TrainingPairs([video_id for video_id, _ in pairs], [words for _, words in pairs])
