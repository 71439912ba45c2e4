"""Videos of one's own, outside of the graph: a bad file costs itself, and only nothing usable is an error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.core import Console, InputError, printable
from pipeline.decoding.decode import decode_videos
from pipeline.decoding.video_files import VideoPlace
from pipeline.index import VideoIndex, read_index
from pipeline.params import Decode


def index_of_own(videos: Sequence[VideoPlace], *, out: Path, params: Decode, console: Console) -> VideoIndex:
    every = params.model_copy(update={"max_failed": 10**9})
    decode_videos(videos=videos, out=out, params=every, console=console)
    index = read_index(out)
    if not index.rows:
        reasons = "; ".join(printable(f"{id_}: {row.message}") for id_, row in index.quarantined.items())
        raise InputError(f"none of these is a usable video ({reasons})")
    return index
