"""From an entry of `extract` to a network that is ready: its family, weights, options and engine."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache, partial
from socket import gethostname
from typing import Any

import torch

from extractors.base import Extractor, ExtractorError, MissingPackageError, Takes
from extractors.parts.engine_names import EXPORTED, Engine, Precision
from extractors.parts.network import NetworkExtractor
from pipeline.cache import remembered
from pipeline.catalogue import can_resize, code_of, family_module, family_options, takes_of
from pipeline.core import InputError, MissingToolError, UsageError, keep_freed_memory
from pipeline.extraction.engine_choice import require_engine
from pipeline.extraction.fingerprint import ANY_NUMBER, BATCH, CLIP_BATCH, libraries
from pipeline.extraction.weights_content import sha256_now
from pipeline.params import Extract
from pipeline.weights import NONE, RANDOM, converted_path, fitting_options, load_weights, stated_options

WINDOWED = ("clips", "video")  # kinds whose rows are made of several frames
_building = threading.Lock()


def extractor_of(params: Extract, *, device: str, weights_sha256: str = "") -> Extractor:
    """With the weights of that hash, or with those that lie there now; the latter reads the file at every call."""
    takes, window = taken_by(params), params.sampling.window
    is_audio, is_windowed = takes == "audio", takes in WINDOWED
    if (is_audio, is_windowed) != (params.sampling.hop is not None, window is not None):
        rule = "hop" if is_audio else "window and stride" if is_windowed else "every, count or fps"
        raise UsageError(f"'{params.family}' takes {takes}: its sampling must give {rule}")
    if takes == "video" and (params.sampling.stride, params.sampling.tail) != (window, "pad"):
        raise UsageError(f"'{params.family}' takes the whole video: its sampling must give stride {window}, tail pad")
    settings = settings_of(params)
    names = params.family, params.network, tuple(params.outputs), params.weights
    content = weights_sha256 or sha256_now(params.weights)
    with _building:  # videos in flight share one network
        return load_extractor(*names, content, device, params.engine, params.precision, params.resize, **settings)


def rebuilt(params: Extract, state: dict[str, Any] | None) -> Extractor:
    """Of these tensors, as they are, whatever was built before; on the CPU, by the engine eager."""
    settings = {**settings_of(params), **resize_option(params.family, params.resize)}
    return family_module(params.family).build(
        params.network, outputs=tuple(params.outputs), weights=state, device="cpu", **settings
    )


def settings_of(params: Extract) -> dict[str, Any]:
    window = params.sampling.window
    return {**options_of(params), **({} if window is None else {"window": window})}


def planned_outputs(params: Extract) -> dict[str, tuple[int, ...]]:
    """Outputs and the shape of a row of each, known without weights; an error where nothing can be extracted so."""
    require_engine(params.engine, params.precision, device="cpu")
    weights = NONE if params.weights == NONE else RANDOM
    plain = params.model_copy(update={"weights": weights, "engine": "eager", "precision": "float32"})
    return dict(extractor_of(plain, device="cpu").outputs)


def taken_by(params: Extract) -> Takes:
    try:
        return takes_of(params.family, params.network)
    except ExtractorError as error:
        raise UsageError(str(error)) from error


def options_of(params: Extract) -> dict[str, Any]:
    """Those in params.yaml, and before them what the weights ask for, of a family that has it."""
    known = family_options(params.family)
    stated = {**fitting_options(params.weights), **stated_options(params.weights)}
    return {**{name: value for name, value in stated.items() if name in known}, **params.options}


@cache
def load_extractor(
    family: str,
    network: str,
    outputs: tuple[str, ...],
    weights: str,
    weights_sha256: str,
    device: str,
    engine: Engine,
    precision: Precision,
    resize: str,
    **settings: Any,
) -> Extractor:
    """Built once per worker process, on one thread: workers share the cores, and their number changes no bit.

    A worker may live longer than a weights file, so a network is kept under the content of its weights.
    """
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # by default a GPU's convolutions keep ten bits of every float32
    keep_freed_memory()
    build = family_module(family).build
    require_known_options(family, settings)
    require_engine(engine, precision, device=device)
    chosen = resize_option(family, resize)
    state = state_of(weights, sha256=weights_sha256)
    try:
        extractor = build(network, outputs=outputs, weights=state, device=device, **settings, **chosen)
    except MissingPackageError as error:
        raise MissingToolError(str(error), hint=f"pip install 'framescribe[{error.extra}]'") from error
    except ExtractorError as error:
        raise UsageError(str(error)) from error
    record = {"family": family, "network": network, "outputs": outputs, "settings": settings, "engine": engine}
    return with_engine(extractor, engine, precision, weights=weights_sha256, record=record)


def takes_batches(extractor: Extractor, engine: Engine) -> bool:
    """Whether the engine's graph takes batches as they come: a row's last digits then depend on their size."""
    return isinstance(extractor, NetworkExtractor) and extractor.rows_together and engine in EXPORTED


def with_engine(
    extractor: Extractor, engine: Engine, precision: Precision, *, weights: str, record: dict[str, Any]
) -> Extractor:
    """The extractor, its forward pass run by the engine; the graph is made, or found, when the first batch comes.

    `weights` is the hash of their file, or says that there is none.
    """
    if (engine, precision) == ("eager", "float32"):
        return extractor
    family = record["family"]
    if not isinstance(extractor, NetworkExtractor):
        asked = f"engine: {engine}" if engine != "eager" else f"precision: {precision}"
        raise UsageError(f"'{family}' runs on the engine eager only, in float32", hint=f"remove {asked}")
    extractor.precision = precision
    if engine == "eager":
        return extractor
    if takes_batches(extractor, engine):
        rows: int | None = None
        record = {**record, "graph": ANY_NUMBER}
    else:
        rows = 1 if extractor.device.type == "cpu" else BATCH if extractor.takes == "frames" else CLIP_BATCH
    versions = {"code": code_of(family), **libraries(record["network"], engine)}
    extractor.use(engine, rows=rows, remember=partial(remembered, {**record, "weights": weights, "versions": versions}))
    return extractor


def state_of(weights: str, *, sha256: str) -> dict[str, Any] | None:
    """None for an untrained network; the empty state of `none` fits only what has no weights."""
    if weights == RANDOM:
        return None
    if weights == NONE:
        return {}
    require_content(weights, sha256)
    state = load_weights(weights)
    require_content(weights, sha256)  # features are kept under this hash: what was loaded must have it too
    return state


def require_content(weights: str, sha256: str) -> None:
    if (found := sha256_now(weights)) != sha256:
        raise InputError(
            f"{converted_path(weights)} on {gethostname()} is not the file that this run began with:"
            f" its sha256 is {found[:12]}..., not {sha256[:12]}...",
            hint="give every worker the same weights, then run the same command again; what was computed is kept",
        )


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
