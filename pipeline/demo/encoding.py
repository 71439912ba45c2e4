"""H.264 and AAC in MP4, the same bytes every time: one thread, no dates, no encoder chance."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from pipeline.demo.drawing import Frame
from pipeline.demo.scene import FPS, HEIGHT, WIDTH
from pipeline.demo.sound import RATE, Wave

_X264 = {"preset": "veryfast", "crf": "22", "threads": "1", "x264-params": "subme=1:bframes=1:rc-lookahead=10"}
_VIDEO_TICK, _AUDIO_TICK = Fraction(1, FPS), Fraction(1, RATE)
_AAC_SAMPLES = 1024  # an AAC frame


def write_clip(path: Path, *, pictures: Iterable[Frame], sound: Wave | None) -> None:
    with av.open(str(path), "w", format="mp4", options={"fflags": "+bitexact", "movflags": "+faststart"}) as container:
        video = container.add_stream("libx264", rate=FPS, options=_X264)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        video.codec_context.thread_count = 1
        audio = None if sound is None else _audio_stream(container)
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, _VIDEO_TICK
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if audio is not None and sound is not None:
            _mux_sound(container, audio, sound)


def _audio_stream(container: av.container.OutputContainer) -> av.AudioStream:
    stream = container.add_stream("aac", rate=RATE, layout="mono", options={"aac_coder": "fast"})
    stream.codec_context.bit_rate = 48_000
    stream.codec_context.thread_count = 1
    return stream


def _mux_sound(container: av.container.OutputContainer, stream: av.AudioStream, sound: Wave) -> None:
    for start in range(0, len(sound), _AAC_SAMPLES):
        chunk = np.ascontiguousarray(sound[None, start : start + _AAC_SAMPLES])  # (1 channel, samples)
        frame = av.AudioFrame.from_ndarray(chunk, format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE, start, _AUDIO_TICK
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))
