"""Clips of awkward lengths through the real stage, and what every extractor promises of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pipeline.core.executors import InProcess
from pipeline.extraction import extract
from pipeline.params.extract import Extract
from pipeline.store import Store, open_store
from tests.clips import tone, write_clip
from tests.store.making import QUIET, index_of

LENGTHS = (1, 2, 15, 16, 17, 100)


def small_clips(folder: Path) -> Path:
    """The index of small clips `clip<frames>`."""
    (folder / "videos").mkdir()
    for frames in LENGTHS:
        write_clip(folder / f"videos/clip{frames}.mp4", frames=frames, width=64, height=48)
    return index_of(folder / "videos", folder / "index")


def clips_of_both_kinds(folder: Path) -> Path:
    """The index of clips with a silent sound track and without any; a name ends in the number of frames."""
    (folder / "videos").mkdir()
    for frames in LENGTHS:
        silence = tone(frames / 25, rate=16000, loudness=0.0)
        write_clip(folder / f"videos/silent_{frames:03}.mp4", frames=frames, sound=silence)
        write_clip(folder / f"videos/soundless_{frames:03}.mp4", frames=frames)
    return index_of(folder / "videos", folder / "index")


def extracted(params: Extract, folder: Path, *, index: Path | None = None) -> Store:
    """The store of an index, or of small clips."""
    index, out = index or small_clips(folder), folder / "store"
    extract.extract_features(
        {"it": params}, index=index, outs={"it": out}, executor=InProcess(), device="cpu", console=QUIET
    )
    return open_store(out)


def require_contract(store: Store, shapes: Mapping[str, Sequence[int]]) -> None:
    """Of clips of both kinds: none failed, every row has the declared shape and says which frames it is of."""
    assert len(store) == 2 * len(LENGTHS)
    for video_id in store:
        video, frames = store[video_id], int(video_id[-3:])
        for tap, shape in shapes.items():
            assert list(video[tap].shape) == [len(video.rows), *shape]
            assert np.isfinite(video[tap]).all()
        assert np.all(video.rows.first_frame <= video.rows.last_frame)
        assert np.all((video.rows.first_frame >= 0) & (video.rows.last_frame < frames))
        assert np.all(video.rows.start <= video.rows.end)
