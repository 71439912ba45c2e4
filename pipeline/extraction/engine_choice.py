"""Whether an engine can run here."""

from __future__ import annotations

import os
import shutil

from extractors.parts.engine_names import EXPORTED, Engine, Precision, missing_packages
from pipeline.core import MissingToolError, UsageError


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
