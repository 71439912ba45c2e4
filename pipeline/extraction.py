"""The work of the `extract` stage on one video: sample, decode, prepare, forward, remember."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from extractors.base import Extractor, UnknownOutputError
from pipeline import sampling
from pipeline.cache import get_features, put_features
from pipeline.decoding import DecodeError, read_frames
from pipeline.errors import InputError, MissingToolError, UsageError
from pipeline.hashing import file_sha256, record_sha256
from pipeline.index import VideoRow, read_index
from pipeline.memory import keep_freed_memory
from pipeline.params import Extract
from pipeline.store import Rows, VideoFeatures
from pipeline.weights import RANDOM, converted_path, fetch_command, load_weights, status

BATCH = 8  # frames a forward pass; batches never mix videos, so a video's bytes do not depend on its neighbours
# Versions that decide a feature's bits: the arithmetic and the decoders. Nothing else of the environment does.
LIBRARIES = ("torch", "torchvision", "av", "decord")


@dataclass(frozen=True)
class Result:
    video_id: str
    features: VideoFeatures | None
    failure: str = ""
    computed: bool = False


def fingerprint(params: Extract, *, weights_sha256: str) -> dict[str, Any]:
    """Everything that decides a feature, apart from the video's own bytes."""
    return {
        "extractor": params.model_dump(exclude={"max_failed"}),
        "weights": RANDOM if params.weights == RANDOM else weights_sha256,
        "code": family_module(params.family).VERSION,
        "batch": BATCH,
        "libraries": {name: version(name) for name in LIBRARIES},
    }


@contextmanager
def unchanged_weights(name: str) -> Iterator[str]:
    """The sha256 of the weights file; DVC hashes it only after the command, so it must still be the same then."""
    if name == RANDOM:
        yield RANDOM
        return
    if status(name) != "present":
        raise MissingToolError(f"the weights '{name}' are {status(name)}", hint=fetch_command(name))
    before = file_sha256(converted_path(name))
    yield before
    if file_sha256(converted_path(name)) != before:
        raise InputError(f"{converted_path(name)} changed while features were computed", hint="run the stage again")


def family_module(family: str) -> ModuleType:
    try:
        return importlib.import_module(f"extractors.{family}")
    except ModuleNotFoundError as error:
        folder = Path(importlib.import_module("extractors").__path__[0])
        known = sorted(file.stem for file in folder.glob("*.py") if file.stem not in {"__init__", "base"})
        raise UsageError(f"there is no extractor family '{family}'; known: {', '.join(known)}") from error


@dataclass(frozen=True)
class ExtractVideo:
    """A picklable piece of work: the executor sends it once, then video after video."""

    params: Extract
    record: dict[str, Any] = field(hash=False)
    index: Path = field(kw_only=True)
    device: str = field(kw_only=True)

    def __call__(self, row: VideoRow) -> Result:
        key = record_sha256({"fingerprint": self.record, "video": row.sha256, "backend": row.backend})
        cached = get_features(key)
        if cached is not None:
            return Result(row.id, cached)
        try:
            features = self._compute(row)
        except DecodeError as error:
            return Result(row.id, None, failure=str(error))
        put_features(key, features)
        return Result(row.id, features, computed=True)

    def _compute(self, row: VideoRow) -> VideoFeatures:
        rows = sampling.sample(self.params.sampling, frames=row.frames, times=_index(self.index).times(row.id))
        settings = self.params
        extractor = load_extractor(
            settings.family, settings.network, tuple(settings.outputs), settings.weights, self.device
        )
        outputs = forward(extractor, read_frames(row, rows.needed))
        places = np.searchsorted(rows.needed, rows.indices[:, 0])  # a frame may serve several rows
        tensors = {name: array[places].astype(settings.dtype) for name, array in outputs.items()}
        return VideoFeatures(tensors=tensors, rows=row_table(rows))


@cache
def _index(folder: Path) -> Any:
    return read_index(folder)


@cache
def load_extractor(family: str, network: str, outputs: tuple[str, ...], weights: str, device: str) -> Extractor:
    """Built once per worker process, on one thread: workers share the cores, and their number changes no bit."""
    import torch

    torch.set_num_threads(1)
    keep_freed_memory()
    state = None if weights == RANDOM else load_weights(weights)
    try:
        return family_module(family).build(network, outputs=outputs, weights=state, device=device)
    except UnknownOutputError as error:
        raise UsageError(str(error)) from error


def forward(extractor: Extractor, frames: Iterator[np.ndarray]) -> dict[str, np.ndarray]:
    """Batches of prepared frames through the network; memory holds one batch of frames at a time."""
    import torch

    parts: dict[str, list[np.ndarray]] = {name: [] for name in extractor.outputs}
    prepared = map(extractor.prepare, frames)
    while batch := list(islice(prepared, BATCH)):
        for name, rows in extractor(torch.stack(batch)).items():
            parts[name].append(rows.float().cpu().numpy())
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def row_table(rows: sampling.Rows) -> Rows:
    return Rows(first_frame=rows.first, last_frame=rows.last, start=rows.start, end=rows.end, valid=rows.valid)
