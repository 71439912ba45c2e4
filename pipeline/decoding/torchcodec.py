"""torchcodec, a backend to be asked for: in order only, and only for videos on which it was seen to equal PyAV.

It brings torch, and its FFmpeg is the system's: a child imports it only when told to, before its memory is limited.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator
from functools import cache
from typing import Any

import numpy as np

from pipeline.core import DecodeError
from pipeline.decoding.opening import OpenedFile

FFMPEG = "the shared libraries of FFmpeg 4 to 9 (libavcodec, libavformat, libavfilter, libavutil, libswscale)"
CALL_BYTES = 1 << 20  # of frames that one call decodes: small ones cost less together
ALSO = "or set decode.backend in params.yaml to pyav, which brings its own FFmpeg"


@cache
def build() -> str:
    """Its version and that of the FFmpeg that it found, which no lock pins: both decide pixels."""
    try:
        package = importlib.import_module("torchcodec")
        core = importlib.import_module("torchcodec._core")
    except (ImportError, OSError, RuntimeError) as error:
        words = f"decode.backend is torchcodec, which cannot be imported: {_first_line(error)}"
        raise DecodeError("unsupported", words, hint=f"pip install 'framescribe[torchcodec]'; {ALSO}") from error
    if package.ffmpeg_major_version is None:
        lacks = f"decode.backend is torchcodec, which finds no FFmpeg: this system lacks {FFMPEG}"
        raise DecodeError("unsupported", lacks, hint=f"install them (Debian: apt-get install ffmpeg); {ALSO}")
    ffmpeg = core.get_ffmpeg_library_versions()["ffmpeg_version"]
    return f"{package.__version__} with FFmpeg {ffmpeg}"


def read(file: OpenedFile, *, wanted: list[int], threads: int) -> Generator[np.ndarray | None, None, None]:
    """From the first frame to the last wanted one: RGB for the wanted ones, None for the others."""
    build()
    try:
        yield from _read(file, wanted=wanted, threads=threads)
    except (RuntimeError, ValueError, IndexError) as error:  # what torch's operators raise
        raise DecodeError("no-frames", f"torchcodec cannot read '{file.path}': {_first_line(error)}") from error


def _read(file: OpenedFile, *, wanted: list[int], threads: int) -> Iterator[np.ndarray | None]:
    """One index after the other, on which it never seeks: its random access was seen to land on other frames."""
    decoders: Any = importlib.import_module("torchcodec.decoders")
    decoder = decoders.VideoDecoder(file.name, dimension_order="NHWC", num_ffmpeg_threads=threads)
    targets, end = set(wanted), min(len(decoder), max(wanted) + 1)
    first, together = 0, 1
    while first < end:
        pixels = decoder[first : min(first + together, end)].numpy()  # (frames, H, W, 3)
        for number, frame in enumerate(pixels, first):
            yield frame if number in targets else None
        first, together = first + len(pixels), max(1, CALL_BYTES // frame.nbytes)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
