"""From an entry of `extract` to a network that is ready: its family, weights, options and engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from extractors.base import Extractor, ExtractorError, MissingPackageError
from extractors.parts.engines import Engine, Precision
from pipeline.catalogue import can_resize, code_of, family_module, family_options
from pipeline.core import MissingToolError, UsageError, keep_freed_memory
from pipeline.extraction.audio_features import sound_state
from pipeline.extraction.engine_choice import require_engine, with_engine
from pipeline.extraction.fingerprint import fingerprint, video_record
from pipeline.index import VideoRow
from pipeline.params import Extract
from pipeline.weights import (
    NONE,
    RANDOM,
    WEIGHTS_FOLDER,
    WITHOUT_FILE,
    converted_path,
    fitting_options,
    load_weights,
    missing,
    status,
)

WINDOWED = ("clips", "video")  # kinds whose rows are made of several frames


@dataclass(frozen=True)
class Task:
    """One extractor of a pass over the videos, and the record of all that decides its features."""

    name: str
    params: Extract
    record: dict[str, Any] = field(hash=False)

    def record_of(self, row: VideoRow) -> dict[str, Any]:
        return video_record(self.record, sha256=row.sha256, backend=row.backend)

    def origin_of(self, row: VideoRow) -> dict[str, Any]:
        """What a store says about a video; of one without sound, that it has none."""
        sound = {"sound": sound_state(row)} if self.params.sampling.hop is not None else {}
        return {"sha256": row.sha256, "decoder": row.backend, **sound}


def make_task(name: str, params: Extract, *, weights_sha256: str, device: str) -> Task:
    """The extractor is built here as well, on the CPU: preprocessing travels with it."""
    require_engine(params.engine, params.precision, device=device)
    extractor = extractor_of(params, device="cpu")
    weights = params.weights if params.weights in WITHOUT_FILE else weights_sha256
    code = code_of(params.family)
    record = fingerprint(params, weights=weights, preprocessing=extractor.preprocessing, code=code, device=device)
    return Task(name, params, record)


def weights_files(name: str) -> list[Path]:
    """What an extractor reads of weights/: one file, which must be there, or nothing."""
    if name in WITHOUT_FILE:
        return []
    if (state := status(name)) != "present":
        raise missing(name, state=state, folder=WEIGHTS_FOLDER)
    return [converted_path(name)]


def extractor_of(params: Extract, *, device: str) -> Extractor:
    takes, window = family_module(params.family).TAKES, params.sampling.window
    is_audio, is_windowed = takes == "audio", takes in WINDOWED
    if (is_audio, is_windowed) != (params.sampling.hop is not None, window is not None):
        rule = "hop" if is_audio else "window and stride" if is_windowed else "every, count or fps"
        raise UsageError(f"'{params.family}' takes {takes}: its sampling must give {rule}")
    if takes == "video" and (params.sampling.stride, params.sampling.tail) != (window, "pad"):
        raise UsageError(f"'{params.family}' takes the whole video: its sampling must give stride {window}, tail pad")
    settings = {**options_of(params), **({} if window is None else {"window": window})}
    names = params.family, params.network, tuple(params.outputs), params.weights
    return load_extractor(*names, device, params.engine, params.precision, params.resize, **settings)


def options_of(params: Extract) -> dict[str, Any]:
    """Those in params.yaml, and before them what the weights ask for, of a family that has it."""
    known = family_options(params.family)
    asked = {name: value for name, value in fitting_options(params.weights).items() if name in known}
    return {**asked, **params.options}


@cache
def load_extractor(
    family: str,
    network: str,
    outputs: tuple[str, ...],
    weights: str,
    device: str,
    engine: Engine,
    precision: Precision,
    resize: str,
    **settings: Any,
) -> Extractor:
    """Built once per worker process, on one thread: workers share the cores, and their number changes no bit."""
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # by default a GPU's convolutions keep ten bits of every float32
    keep_freed_memory()
    build = family_module(family).build
    require_known_options(family, settings)
    require_engine(engine, precision, device=device)
    chosen = resize_option(family, resize)
    state = state_of(weights)
    try:
        extractor = build(network, outputs=outputs, weights=state, device=device, **settings, **chosen)
    except MissingPackageError as error:
        raise MissingToolError(str(error), hint=f"pip install 'framescribe[{error.extra}]'") from error
    except ExtractorError as error:
        raise UsageError(str(error)) from error
    record = {"family": family, "network": network, "outputs": outputs, "settings": settings, "engine": engine}
    return with_engine(extractor, engine, precision, weights=weights, record=record)


def state_of(weights: str) -> dict[str, Any] | None:
    """None for an untrained network; the empty state of `none` fits only what has no weights."""
    if weights == RANDOM:
        return None
    return {} if weights == NONE else load_weights(weights)


def require_known_options(family: str, settings: Mapping[str, Any]) -> None:
    known = family_options(family)
    unknown = [name for name in settings if name not in {*known, "window"}]
    if unknown:
        raise UsageError(f"'{family}' has no option {', '.join(unknown)}; it has: {', '.join(known) or 'none'}")


def resize_option(family: str, resize: str) -> dict[str, str]:
    """The argument of `build`, which says itself what the published way is."""
    if resize == "published":
        return {}
    if not can_resize(family):
        raise UsageError(
            f"'{family}' cannot be told how to resize frames (resize: {resize})",
            hint=f"remove resize: {resize}; docs/extractors.md names the families that can be",
        )
    return {"resize": resize}
