"""The work of the `caption` stage: a batch of videos at a time, here or on a worker that keeps the model.

Batches are cut before they are given away: not even their padding depends on where they are captioned.
Attention maps come back as they are written, in half precision: what travels and is held is no more than the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.captioner import BATCH, CaptionSearch, caption_videos
from pipeline.captioning.caption_model import CaptionModel, open_caption_model
from pipeline.captioning.chosen_search import chosen_search
from pipeline.core import Executor, InProcess, InputError, file_sha256, record_sha256
from pipeline.params import Caption
from pipeline.predictions import AttentionMaps, halved, without_attention
from pipeline.runs import state_of

WORTH = 8  # batches; fewer are captioned before workers have imported torch and opened the run


@dataclass(frozen=True)
class VideoBatch:
    """One batch of the videos that a run, or an ensemble, is to caption."""

    name: str
    number: int
    folders: tuple[Path, ...]
    state: str  # of all that decides captions: a worker may live longer than a run
    video_ids: tuple[str, ...]

    @property
    def id(self) -> str:
        """In the logs of a cluster."""
        return f"{self.name} {self.number}"


@dataclass(frozen=True)
class ShardPredictions:
    name: str
    number: int
    predictions: dict[str, dict[str, Any]]
    attention: dict[str, AttentionMaps]
    facts: dict[str, Any]  # what the attention maps of all videos share


@dataclass(frozen=True)
class CaptionShard:
    """Work for an executor."""

    params: Caption
    device: str
    captions: Path

    def __call__(self, shard: VideoBatch) -> ShardPredictions:
        opened = _opened(shard.folders, shard.state, self.device, self.captions)
        generated = caption_videos(
            opened.model,
            opened.source,
            shard.video_ids,
            vocabulary=opened.vocabulary,
            search=_search(shard.folders, shard.state, self.device, self.params, self.captions),
            first_reading=self.params.first_reading,
            device=self.device,
        )
        geometry = opened.geometry
        maps = {video: halved(geometry.attention_maps(video, each.attention)) for video, each in generated.items()}
        return ShardPredictions(shard.name, shard.number, without_attention(generated), maps, geometry.facts())


@lru_cache(maxsize=1)
def _opened(folders: tuple[Path, ...], state: str, device: str, captions: Path) -> CaptionModel:
    """Once per worker: it keeps the model from one batch to the next."""
    if state_now(folders, captions) != state:
        named = ", ".join(map(str, folders))
        raise InputError(f"{named}, or its features, changed while it was captioning", hint="run the same command")
    return open_caption_model(folders, device=device)


@lru_cache(maxsize=1)
def _search(folders: tuple[Path, ...], state: str, device: str, params: Caption, captions: Path) -> CaptionSearch:
    """Once per worker too: a consensus counts the words of all training captions."""
    opened = _opened(folders, state, device, captions)
    return chosen_search(
        params, vocabulary=opened.vocabulary, captions=captions, training=opened.stores, own=opened.stores
    )


def state_now(folders: Sequence[Path], captions: Path) -> str:
    """The hash of all that captions come from: runs, stores, and the corpus, whose words a consensus counts."""
    corpus = {path.name: file_sha256(path) for path in sorted(captions.glob("*.json"))}
    return record_sha256({"runs": state_of(folders), "corpus": corpus})


def shards_of(name: str, folders: Sequence[Path], video_ids: Sequence[str], *, captions: Path) -> Iterator[VideoBatch]:
    """At least one, so that a split without videos is captioned too."""
    state = state_now(folders, captions)
    for number, start in enumerate(range(0, max(1, len(video_ids)), BATCH)):
        yield VideoBatch(name, number, tuple(folders), state, tuple(video_ids[start : start + BATCH]))


def worth_it(executor: Executor, shards: Sequence[VideoBatch], *, device: str) -> Executor:
    """This process for a few batches, if it has the device."""
    return executor if len(shards) >= WORTH or not _is_here(device) else InProcess()


def _is_here(device: str) -> bool:
    if device == "cpu":
        return True
    import torch

    return torch.cuda.is_available()
