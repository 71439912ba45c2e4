"""What a recipe needs before anything starts: features, weights, disk and, roughly, hours.

Sizes come from the video index when it is there, else from what the data set is known to hold. Hours are multiply-adds
divided by a rate: good to tell an evening from a month, not more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from pipeline.catalogue import read_cards
from pipeline.extraction import sample
from pipeline.index import INDEX_FILE, read_index
from pipeline.papers.recipes import Recipe
from pipeline.params import Dataset, Extract, Sampling, Schedule
from pipeline.weights import availability, is_ready

INDEX = Path("data/index")
CORE = 25.0  # G multiply-adds a second of one core: I3D 22, Inception-V4 25, ResNet-152 32, measured eagerly
GPU = 1500.0  # assumed, not measured
COPIES = 2  # a store, and the feature cache beside it
BACKWARD = 3  # a training step in forward passes
GMAC = {  # of one row, counted or taken from the network's own publication
    "timm:inception_v4": 12.3,
    "resnext101_3d": 4.8,
    "torchvision:resnet152": 11.5,
    "torchvision:resnext101_32x8d": 16.4,
    "i3d_rgb": 27.9,
    "i3d_flow": 500.0,  # TV-L1 of 16 pairs, which takes a processor as long as 17 windows
    "ir_csn152": 97.6,
    "c3d": 38.5,
    "bottom_up_r101": 960.0,  # of which 880 are res5 of 300 proposals
    "maskrcnn_resnet50_fpn": 400.0,  # detector, and both networks on the whole frame
    "vggish": 0.9,
}


@dataclass(frozen=True)
class Clips:
    """So many videos of this length."""

    count: int
    frames: int
    seconds: float


@dataclass(frozen=True)
class DatasetSize:
    clips: Sequence[Clips]
    captions: int  # of training
    source: str

    @property
    def videos(self) -> int:
        return sum(clips.count for clips in self.clips)


def _published(videos: int, seconds: float, captions: int) -> DatasetSize:
    return DatasetSize([Clips(videos, round(25 * seconds), seconds)], captions, "published sizes, 25 frames a second")


PUBLISHED = {  # videos, mean seconds, training captions
    ("msrvtt", "standard"): _published(10_000, 14.8, 130_260),
    ("msrvtt", "dualafr"): _published(7_010, 14.8, 110_260),
    ("msvd", "standard"): _published(1_970, 9.7, 48_779),
    ("vatex", "standard"): _published(34_156, 10.0, 254_420),
    ("mvad", "standard"): _published(46_587, 6.2, 44_976),
}


@dataclass(frozen=True)
class FeatureNeed:
    name: str
    outputs: dict[str, list[int]]
    weights: str
    state: str
    licence: str
    rows: int
    bytes: int
    gmac: float


@dataclass(frozen=True)
class Needs:
    size: DatasetSize
    features: list[FeatureNeed]
    row_gmac: float  # training of the main run
    all_gmac: float  # of every run

    @property
    def disk(self) -> int:
        return COPIES * sum(feature.bytes for feature in self.features)

    @property
    def extract_gmac(self) -> float:
        return sum(feature.gmac for feature in self.features)

    @property
    def missing(self) -> list[str]:
        names = [feature.weights for feature in self.features if not is_ready(feature.state)]
        return list(dict.fromkeys(names))


def needs_of(recipe: Recipe, size: DatasetSize) -> Needs:
    def training(run: str) -> float:
        passes = sum(stage.epochs * _passes(stage) for stage in recipe.train[run].stages)
        return size.captions * passes * recipe.recipe.caption_gmac

    features = [_feature(name, entry, size) for name, entry in recipe.extract.items()]
    return Needs(size, features, training(recipe.recipe.main), sum(map(training, recipe.train)))


def dataset_sizes(recipe: Recipe, dataset: Dataset, *, index: Path) -> list[DatasetSize]:
    """The videos at hand, where the recipe's own data set was decoded, and then the whole data set."""
    whole = PUBLISHED[recipe.recipe.dataset, recipe.recipe.split]
    return [*(_at_hand(dataset, whole, index) if dataset.name == recipe.recipe.dataset else []), whole]


def known_sizes(dataset: Dataset, *, index: Path = INDEX) -> list[DatasetSize]:
    """The same of any data set: that of params.yaml, of which no size may be known."""
    whole = PUBLISHED.get((dataset.name, dataset.split))
    return [*_at_hand(dataset, whole, index), *([whole] if whole else [])]


def _at_hand(dataset: Dataset, whole: DatasetSize | None, index: Path) -> list[DatasetSize]:
    """From the video index: after `dataset use` it may be of another data set still."""
    if not (index / INDEX_FILE).is_file():
        return []
    rows = read_index(index).rows.values()
    clips = [Clips(1, row.frames, row.duration) for row in rows if Path(row.path).is_relative_to(dataset.videos)]
    captions = round(whole.captions * len(clips) / whole.videos) if whole else 0  # as many per video as in the whole
    return [DatasetSize(clips, captions, f"{index}")] if clips else []


def bytes_of(planned: Mapping[str, tuple[Extract, Mapping[str, Sequence[int]]]], size: DatasetSize) -> int:
    """On disk, of stores and feature cache: entries of `extract` and the shapes of their outputs."""
    return COPIES * sum(
        _rows(entry.sampling, size) * _row_bytes(entry, shapes.values()) for entry, shapes in planned.values()
    )


def _rows(sampling: Sampling, size: DatasetSize) -> int:
    return sum(clips.count * row_count(sampling, clips) for clips in size.clips)


def _row_bytes(entry: Extract, shapes: Iterable[Sequence[int]]) -> int:
    return sum(prod(shape) for shape in shapes) * np.dtype(entry.dtype).itemsize


def row_count(sampling: Sampling, clips: Clips) -> int:
    if sampling.hop is not None:
        return max(1, int(clips.seconds / sampling.hop))
    times = np.arange(clips.frames) * (clips.seconds / max(clips.frames, 1))
    return len(sample(sampling, frames=clips.frames, times=times, duration=clips.seconds))


def core_hours(gmac: float) -> float:
    return gmac / CORE / 3600


def gpu_hours(gmac: float) -> float:
    return gmac / GPU / 3600


def _feature(name: str, entry: Extract, size: DatasetSize) -> FeatureNeed:
    card = next(card for card in read_cards().values() if _same_network(card.params, entry))
    shapes = {output: card.taps[output] for output in entry.outputs}
    rows = _rows(entry.sampling, size)
    return FeatureNeed(
        name=name,
        outputs=shapes,
        weights=entry.weights,
        state=availability(entry.weights),
        licence=card.licence,
        rows=rows,
        bytes=rows * _row_bytes(entry, shapes.values()),
        gmac=rows * GMAC[entry.network],
    )


def _same_network(one: Extract, other: Extract) -> bool:
    return (one.family, one.network, one.options.get("regions")) == (
        other.family,
        other.network,
        other.options.get("regions"),
    )


def _passes(stage: Schedule) -> int:
    """Of one caption in one epoch; self-critical training samples a caption, learns from it and decodes greedily."""
    learnt = BACKWARD if stage.cross_entropy or not stage.rewards else 0
    return learnt + (BACKWARD + 1 if stage.rewards else 0)
