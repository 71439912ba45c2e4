"""The decoders that `decode.backend` may name: what an examination with one depends on, and what a machine may lack."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from pipeline.core import DecodeError, MissingToolError
from pipeline.decoding.guard import borrowed_guard
from pipeline.decoding.limits import Limits


@cache
def versions(backend: str) -> dict[str, str]:
    """Of the judge and of the judged."""
    if backend == "torchcodec":
        return {"av": version("av"), "torchcodec": torchcodec_build()}
    return {name: version(name) for name in (("av",) if backend == "pyav" else ("av", "decord"))}


def build_of(backend: str) -> str:
    """What a row says of a backend that the lock does not pin; nothing of the others."""
    return torchcodec_build() if backend == "torchcodec" else ""


def require_backend(backend: str) -> None:
    """Before any work: a backend that this machine does not have."""
    versions(backend)


@cache
def torchcodec_build() -> str:
    """Asked of a child once in this process, which must load neither torch nor FFmpeg for it."""
    try:
        with borrowed_guard(Limits(), backend="torchcodec") as guard:
            (answer,) = guard.request("build", path="")
    except DecodeError as error:
        if error.reason != "unsupported":
            raise
        raise MissingToolError(error.message, hint=error.hint) from error
    return str(answer["build"])
