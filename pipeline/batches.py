"""What training and search read: captions as numbers, and padded feature batches from the stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.base import Features, Modality
from pipeline.corpus import Corpus
from pipeline.errors import InputError
from pipeline.params import Slots
from pipeline.store import Store, open_store
from pipeline.vocabulary import PAD, Vocabulary, tokenize


@dataclass(frozen=True)
class FeatureSource:
    """The stores of a run, one a slot, as padded batches."""

    stores: Mapping[str, Store]  # slot -> store
    tensors: Mapping[str, str]  # slot -> name of the tensor

    @property
    def sizes(self) -> dict[str, int]:
        """Channels of one row of each slot."""
        return {slot: store.manifest["outputs"][self.tensors[slot]]["shape"][-1] for slot, store in self.stores.items()}

    def batch(self, video_ids: Sequence[str], *, device: str = "cpu") -> Features:
        return {slot: self._modality(slot, video_ids, device) for slot in self.stores}

    def _modality(self, slot: str, video_ids: Sequence[str], device: str) -> Modality:
        name = self.tensors[slot]
        videos = [self.stores[slot][video_id] for video_id in video_ids]
        rows = [torch.tensor(video[name], dtype=torch.float32) for video in videos]
        real = [torch.tensor(video.rows.valid > 0) for video in videos]  # sound that is missing is no row to look at
        mask = pad_sequence(real, batch_first=True)  # (B, L); padding is False
        return Modality(pad_sequence(rows, batch_first=True).to(device), mask.to(device))


def open_features(slots: Slots, wanted: Mapping[str, str], *, folder: Path = Path("features")) -> FeatureSource:
    """The stores of the slots a model reads; a slot it needs but was not given, or a missing tensor, is an error."""
    stores = {}
    for slot, tensor in wanted.items():
        name = getattr(slots, slot)
        if name == "none":
            raise InputError(f"the model reads '{slot}', but the run gives it no store", hint=f"set features.{slot}")
        stores[slot] = open_store(folder / name)
        outputs = stores[slot].manifest["outputs"]
        if tensor not in outputs:
            raise InputError(
                f"the model reads '{tensor}' for '{slot}'; {folder / name} has: {', '.join(outputs)}",
                hint=f"add '{tensor}' to extract.{name}.outputs",
            )
    return FeatureSource(stores, wanted)


@dataclass(frozen=True)
class CaptionBatch:
    """Captions of a few videos; each video's features appear once, however many captions it has here."""

    video_ids: list[str]
    video_of: Tensor  # (N,) row of `video_ids` that each caption describes
    words: Tensor  # (N, T) targets, ending in EOS, padded with PAD


@dataclass(frozen=True)
class TrainingPairs:
    """Every (video, caption) pair of the training split."""

    video_ids: list[str]
    words: list[list[int]]

    def __len__(self) -> int:
        return len(self.words)

    def batches(self, size: int, *, seed: int) -> Iterator[CaptionBatch]:
        """All pairs once, in an order that the seed decides."""
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed)).tolist()
        for start in range(0, len(order), size):
            yield self._batch(order[start : start + size])

    def _batch(self, chosen: Sequence[int]) -> CaptionBatch:
        videos = sorted({self.video_ids[pair] for pair in chosen})
        place = {video_id: row for row, video_id in enumerate(videos)}
        words = pad_sequence(
            [torch.tensor(self.words[pair]) for pair in chosen], batch_first=True, padding_value=PAD
        )  # (N, T)
        return CaptionBatch(videos, torch.tensor([place[self.video_ids[pair]] for pair in chosen]), words)


def training_pairs(corpus: Corpus, vocabulary: Vocabulary, *, max_words: int) -> TrainingPairs:
    pairs = [
        (video_id, vocabulary.encode(tokenize(caption)[:max_words]))
        for video_id in corpus.splits["train"]
        for caption in corpus.captions[video_id]
    ]
    if not pairs:
        raise InputError("the training split has no captions", hint="framescribe dataset show")
    return TrainingPairs([video_id for video_id, _ in pairs], [words for _, words in pairs])
