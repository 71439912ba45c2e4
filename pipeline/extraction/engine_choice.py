"""Whether an engine can run here, and the extractor whose forward pass it runs."""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import Any

from extractors.base import Extractor
from extractors.parts.engines import EXPORTED, Engine, Precision, missing_packages
from extractors.parts.network import NetworkExtractor
from pipeline.cache import remembered
from pipeline.catalogue import code_of
from pipeline.core import MissingToolError, UsageError, file_sha256
from pipeline.extraction.fingerprint import BATCH, CLIP_BATCH, libraries
from pipeline.weights import WITHOUT_FILE, converted_path


def require_engine(engine: Engine, precision: Precision, *, device: str) -> None:
    missing = missing_packages(engine)
    if missing:
        raise MissingToolError(
            f"the engine '{engine}' needs the package {missing[0]}", hint="pip install 'framescribe[engines]'"
        )
    if engine == "compile" and not any(shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++")):
        raise MissingToolError("the engine 'compile' needs a C++ compiler", hint="install g++, or choose engine: eager")
    if engine in EXPORTED and device != "cpu":
        raise UsageError(f"the engine '{engine}' runs on the CPU, not on {device}", hint="engine: compile, or eager")
    if engine in EXPORTED and precision != "float32":
        raise UsageError(f"the engine '{engine}' computes in float32, not in {precision}", hint="engine: eager")


def with_engine(
    extractor: Extractor, engine: Engine, precision: Precision, *, weights: str, record: dict[str, Any]
) -> Extractor:
    """The extractor, its forward pass run by the engine; the graph is made, or found, when the first batch comes."""
    if (engine, precision) == ("eager", "float32"):
        return extractor
    family = record["family"]
    if not isinstance(extractor, NetworkExtractor):
        asked = f"engine: {engine}" if engine != "eager" else f"precision: {precision}"
        raise UsageError(f"'{family}' runs on the engine eager only, in float32", hint=f"remove {asked}")
    extractor.precision = precision
    if engine == "eager":
        return extractor
    origin = weights if weights in WITHOUT_FILE else file_sha256(converted_path(weights))
    versions = {"code": code_of(family), **libraries(record["network"], engine)}
    rows = 1 if extractor.device.type == "cpu" else BATCH if extractor.takes == "frames" else CLIP_BATCH
    extractor.use(engine, rows=rows, remember=partial(remembered, {**record, "weights": origin, "versions": versions}))
    return extractor
