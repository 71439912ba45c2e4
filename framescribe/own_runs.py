"""`framescribe.open_run`: sentences for any video, by a trained run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from framescribe.given_videos import require_path
from framescribe.own_torch import torch_of_the_rooms
from pipeline import captioning, params, run_tools
from pipeline.core import HERE, Console, InputError
from pipeline.remote import is_url
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
    """A trained run. Its extractors are entries of the current folder's `params.yaml`, and must not have changed.

    A file of `framescribe runs export` brings them along: it captions in any folder.
    """

    folder: Path  # or that file
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
        given = [videos] if isinstance(videos, str | Path) else videos
        for video in given:
            require_path(video)
        machine = load_machine()
        with torch_of_the_rooms(), self._project() as (run, here), TemporaryDirectory() as work:
            values = params.load_params()
            settings = captioning.AnyVideoSettings(
                extractors=values.extract,
                decode=values.decode,
                caption=values.caption,
                executor=HERE,
                device=device or machine.device,
                work=Path(work),
            )
            found = captioning.caption_own_videos(
                [_placed(video, here) for video in given], run=run, out=None, settings=settings, console=QUIET
            )
        return VideoCaptions({id_: _public(found, id_) for id_ in found.captions}, found.refused)

    @contextmanager
    def _project(self) -> Iterator[tuple[str, Path]]:
        """Stand where the run's params are: what it is called there, and the folder that paths are given in."""
        if self.folder.is_file():
            with run_tools.unpacked_run(self.folder) as found:
                yield found
        else:
            yield str(self.folder), Path()


def _placed(video: str | Path, here: Path) -> str:
    return str(video) if isinstance(video, str) and is_url(video) else str(here / video)


def open_run(path: str | Path) -> Run:
    """`runs/NAME`, as `framescribe train NAME` writes it, or a file of `framescribe runs export`."""
    place = Path(path).resolve()
    return Run(place, run_tools.open_run_file(place).record if place.is_file() else read_record(place))


def _public(found: captioning.Captioned, id_: str) -> VideoCaption:
    said, likeness = found.captions[id_], found.likeness.get(id_)
    unlike = likeness.told() if likeness and likeness.unlike else ""
    return VideoCaption(said.caption, said.log_prob, said.words, found.attention[id_], said.first_reading, unlike)
