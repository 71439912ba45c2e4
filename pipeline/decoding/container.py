"""The container: opened with a list of allowed formats, and the one stream of each kind that is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import av

from pipeline.core import DecodeError
from pipeline.decoding.limits import Limits
from pipeline.decoding.opening import OpenedFile

# Video containers and raw video streams. Playlists (hls, dash, concat), devices, text and still pictures are left out.
FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,apng,flv,asf,mpeg,mpegts,mpegvideo,m4v,h264,hevc,av1,obu,ivf,"
    "ogg,mjpeg,mxf,nut,rm,dv,vc1,wtv,yuv4mpegpipe,swf,h263,gxf,nsv,roq,smk,bink,avs2,avs3,cavsvideo,vvc"
)
# Brands of pictures: HEIF and AVIF, still or as a sequence, whose first picture is a stream of its own
PICTURES = frozenset({"avif", "avis", "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "mif2", "msf1", "miaf"})
_NOT_MOVING = av.stream.Disposition.attached_pic | av.stream.Disposition.timed_thumbnails


@contextmanager
def opened_container(file: OpenedFile) -> Iterator[Any]:
    """The demuxer of an open file; metadata that is not UTF-8 is no reason to refuse a video."""
    options = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}
    try:
        container = av.open(file.name, options=options, metadata_errors="replace")
    except MemoryError as error:
        raise DecodeError("memory", f"'{file.path}' needs too much memory to open") from error
    except av.error.ArgumentError as error:  # what a format outside the list gives
        raise DecodeError("not-a-video", f"'{file.path}' is in no video container that is read") from error
    except (av.error.FFmpegError, ValueError) as error:
        raise DecodeError("not-a-video", f"'{file.path}' is not a video: {_words(error)}") from error
    with container:
        yield container


def video_stream(container: Any, *, path: str, limits: Limits) -> Any:
    """The largest picture that moves, the first one among equals; refused when a frame has too many pixels."""
    streams = [stream for stream in container.streams.video if not stream.disposition & _NOT_MOVING]
    streams = [stream for stream in streams if stream.codec_context is not None]
    brand = container.metadata.get("major_brand", "").strip()
    if brand in PICTURES:
        streams = [stream for stream in streams if stream.frames > 1]
        if not streams:
            raise DecodeError("not-a-video", f"'{path}' is a still picture ({brand})")
    if not streams:
        raise DecodeError("no-video-stream", f"'{path}' has no video stream ({_contents(container)})")
    stream = max(streams, key=lambda each: (each.codec_context.width * each.codec_context.height, -each.index))
    width, height = stream.codec_context.width, stream.codec_context.height
    if width * height > limits.max_pixels:
        stated = f"'{path}' has frames of {width}x{height} = {width * height} pixels, allowed: {limits.max_pixels}"
        raise DecodeError("too-large", stated, hint="raise decode.max_pixels in params.yaml")
    stream.codec_context.options = {"max_pixels": str(limits.max_pixels)}  # also for what the header does not say
    return stream


def stated_end(container: Any, stream: Any) -> dict[str, float]:
    """Where the picture, or everything, ends as a Matroska file says, in seconds; 0 when it does not.

    Other containers give an estimate in the same place, or a table of frames, which is better.
    """
    if "matroska" not in container.format.name:
        return {"picture_ends": 0.0, "all_ends": 0.0}
    alone = {each.type for each in container.streams} <= {"video", "audio"} and len(container.streams.audio) <= 1
    whole = container.duration / av.time_base if container.duration and alone else 0.0
    return {"picture_ends": _seconds(stream.metadata.get("DURATION", "")), "all_ends": whole}


def _seconds(clock: str) -> float:
    """Of `00:01:02.500000000`; 0 for anything else."""
    match = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", clock)
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]) if match else 0.0


def audio_stream(container: Any) -> Any | None:
    """The stream marked as default, or else the first one."""
    default = av.stream.Disposition.default
    streams = [stream for stream in container.streams.audio if stream.codec_context is not None]
    return min(streams, key=lambda stream: (not stream.disposition & default, stream.index), default=None)


def packets(container: Any, stream: Any, *, failures: list[str]) -> Iterator[Any]:
    """The packets up to the end or to where the container breaks, then the empty one that flushes the decoder."""
    try:
        yield from container.demux(stream)
    except av.error.FFmpegError as error:
        failures.append(_words(error))
        yield None


def decoded(stream: Any, packet: Any, *, failures: list[str]) -> list[Any]:
    """The frames that a packet completes; a damaged packet gives none and is counted."""
    try:
        return stream.decode(packet)
    except av.error.EOFError:  # the decoder has already been flushed
        return []
    except MemoryError as error:
        raise DecodeError("memory", "the decoder ran out of memory") from error
    except (av.error.FFmpegError, ValueError) as error:
        failures.append(_words(error))
        return []


def _words(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _contents(container: Any) -> str:
    kinds = sorted({stream.type for stream in container.streams})
    return "it holds: " + ", ".join(kinds) if kinds else "it holds nothing"
