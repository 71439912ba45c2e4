"""`framescribe.extract`: the features of one video, or of frames or sound in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from framescribe.given_videos import require_path
from framescribe.own_torch import torch_of_the_rooms
from pipeline import catalogue, decoding, extraction, params
from pipeline.core import HERE, Console, InputError, UsageError
from pipeline.store import Rows, VideoFeatures, open_store
from workflows.machines import load_machine

QUIET = Console(quiet=True)


def extract(
    name: str, video: str | Path | np.ndarray, *, rate: float | None = None, device: str | None = None
) -> VideoFeatures:
    """Named arrays (rows, ...), and in `.rows` what each row is.

    `name` is an entry of `extract` in the folder's `params.yaml`, or a card that `framescribe extractors` lists.
    `video` is a file, decoded in a process that can be killed, or an array: frames (T, H, W, 3) uint8 RGB, or, for a
    network of sound, mono (samples,) float32 in -1..1. `rate` is of an array: frames, or samples, a second; frames
    without one have rows without times. `device` is that of the profile, as for the commands, unless given.
    """
    project = params.load_params() if params.PARAMS_FILE.is_file() else None
    entry = _entry(name, project.extract if project else {})
    place = device or load_machine().device
    with torch_of_the_rooms():
        if isinstance(video, np.ndarray):
            return extraction.features_of_array(entry, video, rate=rate, device=place)
        require_path(video, or_else=", or a numpy array")
        if rate is not None:
            raise UsageError(f"rate={rate} is for arrays; the file {video} knows its own")
        return _of_file(entry, video, decode=project.decode if project else params.Decode(), device=place)


def _entry(name: str, entries: Mapping[str, params.Extract]) -> params.Extract:
    if name in entries:
        return entries[name]
    cards = {card: each.params for card, each in catalogue.read_cards().items()}
    return params.pick({**cards, **entries}, name, kind="extractor", where="params.yaml or the catalogue")


def _of_file(entry: params.Extract, video: str | Path, *, decode: params.Decode, device: str) -> VideoFeatures:
    """By the stages `decode` and `extract`, so that the numbers are theirs."""
    with TemporaryDirectory() as work:
        index, out = Path(work) / "index", Path(work) / "features"
        _require_one(video)
        (video_id,) = decoding.index_of_own([video], out=index, params=decode, console=QUIET).rows
        every = entry.model_copy(update={"max_failed": 1})  # told below, in the words of the failure
        extraction.extract_features(
            {"own": every}, index=index, outs={"own": out}, executor=HERE, device=device, console=QUIET
        )
        store = open_store(out)
        if store.state(video_id) == "failed":
            raise InputError(f"{video} has no features: {store.failure(video_id)}")
        return _copied(store[video_id])


def _require_one(video: str | Path) -> None:
    if (count := len(decoding.find_videos(video))) != 1:
        raise InputError(f"{video} has {count} videos; extract takes one", hint="framescribe extract NAME, for many")


def _copied(stored: VideoFeatures) -> VideoFeatures:
    """Arrays of their own: the files that these are mapped from go away."""
    rows = {column: array.copy() for column, array in stored.rows.columns().items()}
    return VideoFeatures(tensors={name: array.copy() for name, array in stored.items()}, rows=Rows(**rows))
