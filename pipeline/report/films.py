"""The pictures of a video: frames spread over its time and those that words attend to, side by side in a JPEG."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from pipeline.core import FramescribeError
from pipeline.decoding import read_frames
from pipeline.index import VideoIndex

STRIP = 8  # frames of the filmstrip
MOST = 40  # pictures of one video
THUMBNAIL = (176, 132)  # pixels at most
JPEG_QUALITY = 72


@dataclass(frozen=True, kw_only=True)
class Film:
    """Pictures side by side, or the reason why there are none."""

    size: tuple[int, int]  # of the video's frames
    duration: float
    numbers: list[int]  # frames that have a picture, in order
    seconds: list[float]
    strip: list[int]  # which of the pictures make the filmstrip
    picture: tuple[int, int] = (0, 0)  # width and height of one
    jpeg: bytes = b""
    problem: str = ""

    def nearest(self, frame: int) -> int:
        """The picture that is nearest to a frame."""
        return _nearest(self.numbers, frame)

    def at(self, second: float) -> int:
        return _nearest(self.seconds, second)


def _nearest(values: Sequence[float], wanted: float) -> int:
    place = bisect_left(values, wanted)
    around = [number for number in (place - 1, place) if 0 <= number < len(values)]
    return min(around, key=lambda number: abs(values[number] - wanted), default=0)


def no_film(problem: str, *, size: tuple[int, int] = (4, 3), duration: float = 0.0) -> Film:
    return Film(size=size, duration=duration, numbers=[], seconds=[], strip=[], problem=problem)


def read_film(video: str, *, index: VideoIndex, wanted: Sequence[int] = ()) -> Film:
    """A video that cannot be read any more costs its pictures, not the report."""
    row = index.rows.get(video)
    if row is None:
        return no_film("not in the video index")
    spread = spread_indices(row.frames, STRIP)
    numbers = sorted({*spread, *wanted[: MOST - len(spread)]})
    try:
        pictures = [thumbnail(frame) for frame in read_frames(row, numbers)]
    except (FramescribeError, OSError) as error:
        problem = f"the frames could not be read: {error}"
        return no_film(problem, size=(row.width, row.height), duration=row.duration)
    return Film(
        size=(row.width, row.height),
        duration=row.duration,
        numbers=numbers,
        seconds=index.times(video)[numbers].tolist(),
        strip=[numbers.index(number) for number in spread],
        picture=pictures[0].size,
        jpeg=side_by_side(pictures),
    )


def unread_film(video: str, *, index: VideoIndex, problem: str) -> Film:
    row = index.rows.get(video)
    size, duration = ((row.width, row.height), row.duration) if row else ((4, 3), 0.0)
    return no_film(problem, size=size, duration=duration)


def spread_indices(frames: int, count: int) -> list[int]:
    """The middle frames of `count` equal parts; fewer when the video is shorter."""
    parts = min(frames, count)
    return [(2 * part + 1) * frames // (2 * parts) for part in range(parts)]


def thumbnail(frame: np.ndarray) -> Image.Image:
    """A uint8 (H, W, 3) RGB frame, small."""
    image = Image.fromarray(frame)
    image.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    return image


def side_by_side(pictures: Sequence[Image.Image]) -> bytes:
    """One file per video: a browser fetches and decodes it once, and each frame is a part of it."""
    width, height = pictures[0].size
    sheet = Image.new("RGB", (width * len(pictures), height))
    for place, picture in enumerate(pictures):
        sheet.paste(picture, (place * width, 0))
    buffer = io.BytesIO()
    sheet.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return buffer.getvalue()
