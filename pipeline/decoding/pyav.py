"""PyAV, the reference and the fallback: every frame in presentation order, damaged packets counted and skipped.

Never set a PyAV log level: its Python callback, called from FFmpeg's threads, waits for a lock that the thread which
joins them holds (seen as a hang with `thread_type = AUTO`). By default PyAV ignores FFmpeg's log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import av
import numpy as np
from av.sidedata.sidedata import Type
from av.video.reformatter import VideoReformatter

from pipeline.core import DecodeError
from pipeline.decoding.container import decoded, opened_container, packets, video_stream
from pipeline.decoding.early import decoded_early
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import OpenedFile

_UNIT = 1 << 16  # display matrices are 16.16 fixed point


@dataclass
class Tally:
    """What went by while the frames were read."""

    packets: int = 0  # with bytes
    discarded: int = 0  # cut away by an edit list
    corrupt: int = 0  # packets that the container marks as damaged
    failures: list[str] = field(default_factory=list)


@dataclass
class RgbConverter:
    """Decoded frames as RGB, turned as the display matrix says; one reformatter serves all frames."""

    turn: Turn
    width: int  # before the turn
    height: int
    reformatter: VideoReformatter = field(default_factory=VideoReformatter)

    def rgb(self, frame: av.VideoFrame) -> np.ndarray:
        """uint8 (H, W, 3), a view of the reformatter's memory."""
        plane = self.reformatter.reformat(frame, format="rgb24", threads=1).planes[0]
        shape, strides = (self.height, self.width, 3), (plane.line_size, 3, 1)
        return self.turn.apply(np.ndarray(shape, np.uint8, memoryview(plane), strides=strides))


@dataclass(frozen=True)
class Turn:
    """What a display matrix asks for: a mirror image first, then quarter turns counter-clockwise."""

    quarters: int = 0
    mirror: bool = False

    def apply(self, picture: np.ndarray) -> np.ndarray:
        mirrored = picture[:, ::-1] if self.mirror else picture
        return np.rot90(mirrored, self.quarters) if self.quarters else mirrored


def turn_of(frame: av.VideoFrame) -> Turn:
    """Right angles only: any other matrix is not a rotation that video files use, and is left alone."""
    try:
        matrix = _display_matrix(frame)
    except ValueError:  # PyAV refuses to list side data of a kind it does not know (Exif, the views of MV-HEVC)
        return Turn(quarters=frame.rotation // 90 % 4 if frame.rotation % 90 == 0 else 0)
    if matrix is None or sorted(np.abs(matrix[[0, 1, 3, 4]]).tolist()) != [0, 0, _UNIT, _UNIT]:
        return Turn()
    a, b, c, d = (np.sign(matrix[[0, 1, 3, 4]]).astype(int)).tolist()
    mirror = a * d - b * c < 0
    if mirror:
        a, b = -a, -b
    return Turn(quarters={(1, 0): 0, (0, -1): 1, (-1, 0): 2, (0, 1): 3}[(a, b)], mirror=mirror)


def frames_in_order(container: Any, stream: Any, *, path: str, threads: int, tally: Tally) -> Iterator[av.VideoFrame]:
    """Every decodable frame. All frames have one size, or the video is refused."""
    stream.thread_type = "NONE" if threads == 1 else "AUTO"
    stream.codec_context.thread_count = threads
    size: tuple[int, int] | None = None
    for packet in packets(container, stream, failures=tally.failures):
        _count(packet, tally)
        for frame in decoded(stream, packet, failures=tally.failures):
            size = size or (frame.width, frame.height)
            if (frame.width, frame.height) != size:
                changed = f"'{path}' changes its picture from {size[0]}x{size[1]} to {frame.width}x{frame.height}"
                raise DecodeError("size-changes", changed)
            yield frame


def read(
    file: OpenedFile, *, wanted: list[int], limits: Limits, threads: int, early: bool = False
) -> Iterator[np.ndarray | None]:
    """From the first frame to the last wanted one: RGB for the wanted ones, None for the others.

    With `early` another thread decodes while frames become RGB and whatever the caller makes of them.
    """
    targets = set(wanted)
    converter: RgbConverter | None = None
    with opened_container(file) as container:
        stream = video_stream(container, path=file.path, limits=limits)
        frames = frames_in_order(container, stream, path=file.path, threads=threads, tally=Tally())
        needed = (frame for frame in islice(frames, max(wanted) + 1))
        with closing(decoded_early(needed) if early else needed) as coming:
            for number, frame in enumerate(coming):
                converter = converter or RgbConverter(turn_of(frame), frame.width, frame.height)
                yield converter.rgb(frame) if number in targets else None


def _count(packet: Any | None, tally: Tally) -> None:
    if packet is not None and packet.size:
        tally.packets += 1
        tally.discarded += packet.is_discard
        tally.corrupt += packet.is_corrupt


def _display_matrix(frame: av.VideoFrame) -> np.ndarray | None:
    entries: Any = frame.side_data  # iterates over values, whatever its annotations say
    matrices = (np.frombuffer(entry, np.int32) for entry in entries if entry.type == Type.DISPLAYMATRIX)
    return next(matrices, None)
