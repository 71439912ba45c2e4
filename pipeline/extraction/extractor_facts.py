"""What only a built network knows and a fingerprint or a plan needs: kept in a note, so that it is built once.

The note is known by all that decides it: the entry, the weights, our sources and those of a foreign family, and every
installed package. With it, an `extract` that finds everything in the cache imports no torch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pipeline import extraction
from pipeline.cache import noted
from pipeline.catalogue import code_of, lookahead_of, source_folders
from pipeline.params import Extract

BEGAN = time.time()  # this process imports no source before it is asked for an extractor


@dataclass(frozen=True)
class SoundFacts:
    """The windows of sound that a network takes, in samples."""

    rate: int  # samples a second
    window: int
    lead: int


@dataclass(frozen=True)
class ExtractorFacts:
    code: int | str  # version of the family's arithmetic
    preprocessing: Mapping[str, Any]
    outputs: Mapping[str, tuple[int, ...]]  # name -> shape of one row
    lookahead: int  # frames that rows need after their own
    sound: SoundFacts | None
    takes_batches: bool  # the engine's graph takes batches as they come


def facts_of(params: Extract, *, weights_sha256: str) -> ExtractorFacts:
    """`weights_sha256` says in words when there is no file."""
    sources, newest = _sources(source_folders(params.family))
    if newest > BEGAN:  # what this process has imported may be what they were before
        return _asked(params, weights_sha256)
    record = {
        "entry": params.model_dump(exclude={"max_failed"}),
        "weights": weights_sha256,
        "sources": sources,
        "packages": sorted(_installed()),
        "python": sys.version,
    }
    note = noted(record, lambda: asdict(_asked(params, weights_sha256)))
    outputs = {name: tuple(shape) for name, shape in note["outputs"].items()}
    sound = None if note["sound"] is None else SoundFacts(**note["sound"])
    return ExtractorFacts(**{**note, "outputs": outputs, "sound": sound})


def _asked(params: Extract, weights_sha256: str) -> ExtractorFacts:
    """The network is built, on the CPU: preprocessing travels with it."""
    extractor: Any = extraction.extractor_of(params, weights_sha256=weights_sha256, device="cpu")
    return ExtractorFacts(
        code=code_of(params.family),
        preprocessing=dict(extractor.preprocessing),
        outputs=dict(extractor.outputs),
        lookahead=lookahead_of(params.family),
        sound=SoundFacts(extractor.rate, extractor.window, extractor.lead) if extractor.takes == "audio" else None,
        takes_batches=extraction.takes_batches(extractor, params.engine),
    )


def _sources(folders: Iterable[Path]) -> tuple[str, float]:
    """Their hash, and when the newest was changed."""
    found, newest = sha256(), 0.0
    for folder in folders:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            found.update(f"{path.name}\0".encode() + path.read_bytes())
            newest = max(newest, path.stat().st_mtime)
    return found.hexdigest(), newest


def _installed() -> set[str]:
    """Packages and their versions by the names of their folders: to look into all of these would take a second."""
    return {path.name for place in sys.path for path in Path(place).glob("*.dist-info")}
