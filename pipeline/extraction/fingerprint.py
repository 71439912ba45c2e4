"""The fingerprint: the one record of everything that decides a feature."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from extractors.parts.engine_names import PACKAGES, Engine
from pipeline.params import Extract

CODE = 3  # raise when sampling, batching or casting would give other numbers for the same record
# Frames per forward pass on a CPU. Batches never mix videos, so that a video's bytes do not depend on its neighbours.
BATCH = 8
CLIP_BATCH = 1  # windows per forward pass: on a CPU more gain little, and a window is already sixteen frames
ANY_NUMBER = "any number of rows"  # that an exported graph takes, where it does not take one at a time
GPU_TIMES = 8  # times as many rows per forward pass on a GPU, fewer when its memory is short
# Versions that decide a feature's bits. numpy only copies and casts, safetensors only stores: they decide none.
LIBRARIES = ("torch", "torchvision")  # the arithmetic; the networks and their preprocessing
DECODERS = {"decord": "decord", "pyav": "av"}  # backend -> package


def fingerprint(
    params: Extract,
    *,
    weights: str,
    preprocessing: Mapping[str, Any],
    code: int | str,
    device: str,
    takes_batches: bool = False,
) -> dict[str, Any]:
    """All but the video's own bytes and its decoder; `weights` is a sha256, or says that there are none."""
    graph = {"graph": ANY_NUMBER} if takes_batches else {}  # the others have the fingerprints that they always had
    chosen = params.model_dump(exclude={"max_failed", "weights", "sampling", "outputs", "dtype"})
    return {
        "extractor": {**chosen, "code": code, "pipeline_code": CODE, "batch": BATCH, **graph},
        "weights": weights,
        "preprocessing": dict(preprocessing),
        "sampling": params.sampling.model_dump(exclude_none=True),
        "layers": sorted(params.outputs),
        "dtype": params.dtype,
        "device": device.split(":")[0],
        "libraries": libraries(params.network, params.engine),
        "decoders": {backend: version(package) for backend, package in DECODERS.items()},
    }


def libraries(network: str, engine: Engine) -> dict[str, str]:
    """Versions of what computes: the network's own library, and the engine's, where they are not the usual."""
    library, found, _ = network.partition(":")
    names = {*LIBRARIES, *PACKAGES[engine], *([library] if found else [])}
    return {name: version(name) for name in sorted(names)}


def video_record(record: Mapping[str, Any], *, sha256: str, backend: str) -> dict[str, Any]:
    """What decides the features of one video: the key of the feature cache is its hash."""
    return {"fingerprint": dict(record), "video": sha256, "decoder": backend}
