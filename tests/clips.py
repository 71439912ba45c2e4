"""Synthetic clips for tests, written with PyAV: every frame is different, so that a wrong frame is always seen."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import av
import numpy as np


def picture(number: int, *, width: int, height: int) -> np.ndarray:
    """uint8 RGB (height, width, 3): a moving pattern with nothing symmetric in it."""
    rows, columns = np.mgrid[0:height, 0:width]
    red = (columns * 3 + number * 7) % 256
    green = (rows * 5 + number * 11) % 256
    blue = (rows * 2 + columns + number * 13) % 256
    return np.stack([red, green, blue], axis=-1).astype(np.uint8)


def tone(
    seconds: float, *, rate: int, frequency: float = 440.0, channels: int = 1, loudness: float = 0.5
) -> np.ndarray:
    """float32 (channels, samples)."""
    wave = loudness * np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)
    return np.repeat(wave[None].astype(np.float32), channels, axis=0)


@contextmanager
def same_policy() -> Iterator[None]:
    """Of root, SVT-AV1 makes the whole process real-time: all that it starts later would starve the machine."""
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    yield
    os.sched_setscheduler(0, policy, param)


def write_clip(
    path: Path,
    *,
    frames: int = 30,
    width: int = 96,
    height: int = 80,
    fps: int = 25,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - av.open's own word
    rotation: int = 0,
    times: Sequence[int] | None = None,  # milliseconds, for a variable rate
    sound: np.ndarray | None = None,  # (channels, samples)
    sound_rate: int = 16000,
    sound_codec: str = "aac",
    sound_start: float = 0.0,  # seconds after the first frame
) -> Path:
    with same_policy(), av.open(str(path), "w", format=format, options=container_options or {}) as container:
        stream = container.add_stream(codec, rate=fps, options=options or {})
        stream.width, stream.height, stream.pix_fmt = width, height, pix_fmt
        if times is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        if rotation:
            stream.set_display_rotation(rotation)
        voice = _add_sound(container, sound, rate=sound_rate, codec=sound_codec)
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(picture(number, width=width, height=height), format="rgb24")
            if times is not None:
                frame.pts, frame.time_base = times[number], Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if voice is not None and sound is not None:
            _write_sound(container, voice, sound, rate=sound_rate, start=round(sound_start * sound_rate))
    return path


def write_sound_only(path: Path, *, seconds: float = 1.0, rate: int = 16000) -> Path:
    with av.open(str(path), "w") as container:
        voice = _add_sound(container, tone(seconds, rate=rate), rate=rate, codec="aac")
        _write_sound(container, voice, tone(seconds, rate=rate), rate=rate)
    return path


def write_late_start(path: Path, *, skipped: int = 135, frames: int = 40) -> Path:
    """A cut as `ffmpeg -ss ... -c copy` makes it: an edit list hides the first packets. decord hangs beyond 128."""
    source = write_clip(
        path.with_suffix(".whole.mp4"), frames=skipped + frames, options={"g": "9999", "bf": "0", "preset": "ultrafast"}
    )
    with av.open(str(source)) as whole, av.open(str(path), "w", options={"avoid_negative_ts": "disabled"}) as cut:
        stream = whole.streams.video[0]
        copy = cut.add_stream_from_template(stream)
        shift = int(Fraction(skipped, 25) / stream.time_base)
        for packet in whole.demux(stream):
            if packet.size:
                packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
                packet.stream = copy
                cut.mux(packet)
    source.unlink()
    return path


def write_absurd_length(path: Path, *, frames: int = 10) -> Path:
    """An AVI whose header promises 2**31 more frames than there are: decord reserves memory for them and aborts."""
    write_clip(path, frames=frames, codec="mjpeg", pix_fmt="yuvj420p")
    return patch(path, lambda data: struct.pack_into("<I", data, data.index(b"strh") + 8 + 32, 2**31 + frames))


def write_size_change(path: Path) -> Path:
    """A transport stream whose second half has another size."""
    small = write_clip(path.with_name("small.ts"), frames=20, width=64, height=48)
    large = write_clip(path.with_name("large.ts"), frames=20, width=96, height=80)
    path.write_bytes(large.read_bytes() + small.read_bytes())
    small.unlink()
    large.unlink()
    return path


def write_two_streams(path: Path) -> Path:
    """A small picture first, a larger one second."""
    with av.open(str(path), "w") as container:
        for width, height in ((48, 32), (96, 80)):
            stream = container.add_stream("libx264", rate=25)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for stream in container.streams.video:
            for number in range(10):
                shown = picture(number, width=stream.width, height=stream.height)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
            container.mux(stream.encode(None))
    return path


def write_cover_art(path: Path) -> Path:
    """Sound with an attached picture, which is not a video."""
    with av.open(str(path), "w") as container:
        voice = _add_sound(container, tone(1.0, rate=16000), rate=16000, codec="aac")
        cover = container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 48, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        container.mux(cover.encode(av.VideoFrame.from_ndarray(picture(0, width=64, height=48), format="rgb24")))
        container.mux(cover.encode(None))
        _write_sound(container, voice, tone(1.0, rate=16000), rate=16000)
    return path


def patch(path: Path, change: Callable[[bytearray], object]) -> Path:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(bytes(data))
    return path


def truncate(path: Path, *, keep: float) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    return path


def flip_bits(path: Path, *, count: int, seed: int = 0, start: float = 0.4, end: float = 0.6) -> Path:
    """Change `count` bytes between two relative positions."""
    random = np.random.default_rng(seed)

    def change(data: bytearray) -> None:
        for position in random.integers(int(len(data) * start), int(len(data) * end), count):
            data[position] ^= 1 << int(random.integers(8))

    return patch(path, change)


def judged_frames(path: Path) -> list[np.ndarray]:
    """Every frame as bare PyAV gives it, in order; the yardstick for undamaged, unrotated clips."""
    with av.open(str(path), metadata_errors="replace") as container:
        stream = max(container.streams.video, key=lambda each: each.codec_context.width * each.codec_context.height)
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]


def _add_sound(container, sound, *, rate, codec):  # type: ignore[no-untyped-def]
    if sound is None:
        return None
    layout = {1: "mono", 2: "stereo", 6: "5.1"}[len(sound)]
    return container.add_stream(codec, rate=rate, layout=layout)


def _write_sound(container, stream, sound, *, rate, start=0):  # type: ignore[no-untyped-def]
    size = stream.codec_context.frame_size or 1024
    for first in range(0, sound.shape[1], size):
        block = np.ascontiguousarray(sound[:, first : first + size])
        frame = av.AudioFrame.from_ndarray(block, format="fltp", layout=stream.codec_context.layout.name)
        frame.sample_rate, frame.pts, frame.time_base = rate, start + first, Fraction(1, rate)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))
