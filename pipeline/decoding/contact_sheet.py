"""Looking inside a video: a contact sheet with frame numbers and seconds, or the exact pixels of chosen frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from pipeline.core import Console, UsageError, publishing
from pipeline.decoding.decode_cache import examined
from pipeline.decoding.findings import row_from
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import require_regular_file
from pipeline.decoding.read_video import read_frames
from pipeline.index import VideoRow

MOST_ON_A_SHEET = 400
COLUMNS = 4
THUMBNAIL = 240  # pixels wide
LABEL = 18  # pixels of text under a thumbnail


def show_frames(
    video: Path, choose: Callable[[int], Sequence[int]], *, sheet: Path | None, pixels: Path | None, console: Console
) -> dict[str, Any]:
    """Write the frames that `choose` takes of that many as a sheet (PNG), as pixels (npy), or both."""
    row, times = _look(video)
    chosen = np.array(choose(row.frames), np.int64)
    if pixels is not None:
        write_pixels(pixels, row, indices=chosen)
        console.say(f"{pixels}: uint8 ({len(chosen)}, {row.height}, {row.width}, 3)")
    if sheet is not None:
        write_sheet(sheet, row, indices=np.unique(chosen), times=times)
        console.say(f"{sheet}: {len(np.unique(chosen))} of {row.frames} frames")
    for warning in row.warnings:
        console.say(f"warning: {warning}")
    return {"frames": row.frames, "width": row.width, "height": row.height, "fps": row.fps, "backend": row.backend} | {
        "indices": chosen.tolist(),
        "seconds": times[chosen].tolist(),
        "warnings": list(row.warnings),
    }


def write_pixels(path: Path, row: VideoRow, *, indices: np.ndarray) -> None:
    """Frames in the order asked for, repeats included; written one by one, so that memory stays small."""
    with publishing(path) as temporary:
        shape = (len(indices), row.height, row.width, 3)
        array = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.uint8, shape=shape)
        for number, frame in zip(np.unique(indices), read_frames(row, indices), strict=True):
            array[indices == number] = frame
        array.flush()


def write_sheet(path: Path, row: VideoRow, *, indices: np.ndarray, times: np.ndarray) -> None:
    if len(indices) > MOST_ON_A_SHEET:
        step = -(-row.frames // MOST_ON_A_SHEET)
        raise UsageError(f"{len(indices)} frames are too many for a sheet ({MOST_ON_A_SHEET})", hint=f"--every {step}")
    width = min(THUMBNAIL, max(row.width, 96))
    height = max(1, round(row.height * width / row.width))
    columns = min(COLUMNS, len(indices))
    cell = (width + 4, height + LABEL)
    sheet = Image.new("RGB", (columns * cell[0], -(-len(indices) // columns) * cell[1]), "white")
    for place, (number, frame) in enumerate(zip(indices, read_frames(row, indices), strict=True)):
        thumbnail = Image.fromarray(frame).resize((width, height), Image.Resampling.BILINEAR)
        corner = (place % columns * cell[0], place // columns * cell[1])
        _paste(sheet, thumbnail, corner=corner, label=f"{number}   {times[number]:.2f} s")
    with publishing(path) as temporary:
        sheet.save(temporary, format="PNG")


def _paste(sheet: Image.Image, thumbnail: Image.Image, *, corner: tuple[int, int], label: str) -> None:
    sheet.paste(thumbnail, corner)
    ImageDraw.Draw(sheet).text((corner[0] + 2, corner[1] + thumbnail.height + 2), label, fill="black")


def _look(video: Path) -> tuple[VideoRow, np.ndarray]:
    require_regular_file(str(video))
    sha256, facts, _ = examined(str(video), limits=Limits())
    row = row_from(facts, video_id=video.stem, path=str(video), sha256=sha256)
    return row, np.array(facts["times"])
