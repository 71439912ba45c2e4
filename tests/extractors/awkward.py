"""Clips of awkward lengths through the real stage."""

from __future__ import annotations

from pathlib import Path

from pipeline.execution import InProcess
from pipeline.params import Extract
from pipeline.stages import extract
from pipeline.store import Store, open_store
from tests.clips import write_clip
from tests.store.making import QUIET, index_of

LENGTHS = (1, 2, 15, 16, 17, 100)


def extracted(params: Extract, folder: Path) -> Store:
    """The store of small clips `clip<frames>`."""
    (folder / "videos").mkdir()
    for frames in LENGTHS:
        write_clip(folder / f"videos/clip{frames}.mp4", frames=frames, width=64, height=48)
    out = folder / "store"
    index = index_of(folder / "videos", folder / "index")
    extract.run({"it": params}, index=index, outs={"it": out}, executor=InProcess(), device="cpu", console=QUIET)
    return open_store(out)
