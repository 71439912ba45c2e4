"""Look inside a video: a contact sheet with frame numbers and seconds, or the exact pixels of chosen frames."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import data, decoding, extraction
from pipeline.core import Console, UsageError, publishing

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

DEFAULT_COUNT = 12
MOST_ON_A_SHEET = 400
COLUMNS = 4
THUMBNAIL = 240  # pixels wide
LABEL = 18  # pixels of text under a thumbnail


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("video", type=Path, help="one video file")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--every", type=int, metavar="K", help="frames 0, K, 2K, ...")
    which.add_argument("--indices", metavar="LIST", help="frame numbers, such as 0,5,10")
    parser.add_argument("--out", type=Path, metavar="PNG", help="write a contact sheet")
    parser.add_argument("--npy", type=Path, metavar="FILE", help="write pixels: uint8 (frames, height, width, 3), RGB")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    import numpy as np

    if args.out is None and args.npy is None:
        raise UsageError("nothing to write", hint=f"framescribe frames {args.video} --out sheet.png (or --npy FILE)")
    row, times = _look(args.video)
    chosen = _chosen(args, row)
    if args.npy is not None:
        write_pixels(args.npy, row, indices=chosen)
        console.say(f"{args.npy}: uint8 ({len(chosen)}, {row.height}, {row.width}, 3)")
    if args.out is not None:
        write_sheet(args.out, row, indices=np.unique(chosen), times=times)
        console.say(f"{args.out}: {len(np.unique(chosen))} of {row.frames} frames")
    for warning in row.warnings:
        console.say(f"warning: {warning}")
    return {"frames": row.frames, "width": row.width, "height": row.height, "fps": row.fps, "backend": row.backend} | {
        "indices": chosen.tolist(),
        "seconds": times[chosen].tolist(),
        "warnings": list(row.warnings),
    }


def write_pixels(path: Path, row: data.VideoRow, *, indices: np.ndarray) -> None:
    """Frames in the order asked for, repeats included; written one by one, so that memory stays small."""
    import numpy as np

    with publishing(path) as temporary:
        shape = (len(indices), row.height, row.width, 3)
        array = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.uint8, shape=shape)
        for number, frame in zip(np.unique(indices), decoding.read_frames(row, indices), strict=True):
            array[indices == number] = frame
        array.flush()


def write_sheet(path: Path, row: data.VideoRow, *, indices: np.ndarray, times: np.ndarray) -> None:
    from PIL import Image

    if len(indices) > MOST_ON_A_SHEET:
        step = -(-row.frames // MOST_ON_A_SHEET)
        raise UsageError(f"{len(indices)} frames are too many for a sheet ({MOST_ON_A_SHEET})", hint=f"--every {step}")
    width = min(THUMBNAIL, max(row.width, 96))
    height = max(1, round(row.height * width / row.width))
    columns = min(COLUMNS, len(indices))
    cell = (width + 4, height + LABEL)
    sheet = Image.new("RGB", (columns * cell[0], -(-len(indices) // columns) * cell[1]), "white")
    for place, (number, frame) in enumerate(zip(indices, decoding.read_frames(row, indices), strict=True)):
        thumbnail = Image.fromarray(frame).resize((width, height), Image.Resampling.BILINEAR)
        corner = (place % columns * cell[0], place // columns * cell[1])
        _paste(sheet, thumbnail, corner=corner, label=f"{number}   {times[number]:.2f} s")
    with publishing(path) as temporary:
        sheet.save(temporary, format="PNG")


def _paste(sheet: Image.Image, thumbnail: Image.Image, *, corner: tuple[int, int], label: str) -> None:
    from PIL import ImageDraw

    sheet.paste(thumbnail, corner)
    ImageDraw.Draw(sheet).text((corner[0] + 2, corner[1] + thumbnail.height + 2), label, fill="black")


def _look(video: Path) -> tuple[data.VideoRow, np.ndarray]:
    import numpy as np

    decoding.require_regular_file(str(video))
    sha256, facts, _ = decoding.examined(str(video), limits=decoding.Limits())
    row = decoding.row_from(facts, video_id=video.stem, path=str(video), sha256=sha256)
    return row, np.array(facts["times"])


def _chosen(args: argparse.Namespace, row: data.VideoRow) -> np.ndarray:
    """The frame numbers asked for, in that order."""

    if args.every is not None:
        if args.every < 1:
            raise UsageError(f"--every is {args.every}, it must be at least 1")
        return extraction.every(row.frames, step=args.every)
    if args.indices is not None:
        return _parsed(args.indices, frames=row.frames)
    return extraction.uniform(row.frames, count=min(DEFAULT_COUNT, row.frames))


def _parsed(text: str, *, frames: int) -> np.ndarray:
    import numpy as np

    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--indices is '{text}', it must be numbers such as 0,5,10") from None
    outside = [number for number in numbers if not 0 <= number < frames]
    if outside:
        raise UsageError(f"--indices asks for {outside}; the video has frames 0 to {frames - 1}")
    return np.array(numbers, np.int64)
