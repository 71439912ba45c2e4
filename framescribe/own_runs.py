"""`framescribe.open_run`: sentences for any video, by a trained run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from framescribe.own_torch import torch_of_the_rooms
from pipeline import captioning, params
from pipeline.core import HERE, Console, InputError
from pipeline.runs import read_record
from workflows.machines import load_machine

QUIET = Console(quiet=True)


@dataclass(frozen=True)
class VideoCaption:
    """A sentence, and what the model attended to as it wrote each word."""

    caption: str
    log_prob: float
    words: list[str]
    attention: dict[str, np.ndarray]  # "time" (words, rows) with "times" (rows, 2) in seconds; others: docs/python.md
    first_reading: str | None  # the sentence after VRE's first reading, if `caption.first_reading` asks for it
    unlike: str  # why not to rely on it, of a video that is unlike anything trained on; else empty

    @property
    def probability(self) -> float:
        return exp(self.log_prob)

    def __str__(self) -> str:
        return self.caption


@dataclass(frozen=True)
class VideoCaptions:
    """Of several videos, by their ids: file names without their endings."""

    captions: dict[str, VideoCaption]
    refused: dict[str, str]  # video -> why it has no caption


@dataclass(frozen=True)
class Run:
    """A trained run. Its extractors are entries of the current folder's `params.yaml`, and must not have changed."""

    folder: Path
    record: dict[str, Any] = field(repr=False)  # run.json

    def caption(self, video: str | Path, *, device: str | None = None) -> VideoCaption:
        found = self.caption_all([video], device=device)
        for id_, why in found.refused.items():
            raise InputError(f"{id_} has no caption: {why}")
        if len(found.captions) != 1:
            raise InputError(f"{video} has {len(found.captions)} videos; caption takes one, caption_all takes several")
        return next(iter(found.captions.values()))

    def caption_all(self, videos: str | Path | Sequence[str | Path], *, device: str | None = None) -> VideoCaptions:
        """Files, and folders of them; a bad file costs itself, unless all are bad."""
        values, given = params.load_params(), [videos] if isinstance(videos, str | Path) else videos
        with torch_of_the_rooms(), TemporaryDirectory() as work:
            settings = captioning.AnyVideoSettings(
                extractors=values.extract,
                decode=values.decode,
                caption=values.caption,
                executor=HERE,
                device=device or load_machine().device,
                work=Path(work),
            )
            found = captioning.caption_own_videos(
                [str(video) for video in given], run=str(self.folder), out=None, settings=settings, console=QUIET
            )
        return VideoCaptions({id_: _public(found, id_) for id_ in found.captions}, found.refused)


def open_run(path: str | Path) -> Run:
    """`runs/NAME`, as `framescribe train NAME` writes it."""
    folder = Path(path).resolve()
    return Run(folder, read_record(folder))


def _public(found: captioning.Captioned, id_: str) -> VideoCaption:
    said, likeness = found.captions[id_], found.likeness.get(id_)
    unlike = likeness.told() if likeness and likeness.unlike else ""
    return VideoCaption(said.caption, said.log_prob, said.words, found.attention[id_], said.first_reading, unlike)
