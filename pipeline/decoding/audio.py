"""Sound as float32 mono at a rate, by PyAV's resampler."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import av
import numpy as np

from pipeline.decoding.container import audio_stream, decoded, opened_container, packets
from pipeline.decoding.opening import OpenedFile


class Sound:
    """The sound of a file while it is read: blocks of samples, and what was found out on the way."""

    def __init__(self, file: OpenedFile, *, rate: int) -> None:
        self.file = file
        self.rate = rate
        self.found = False  # there is a stream
        self.start: float | None = None  # presentation time (PTS) of the first sample, in the container's seconds
        self.failures: list[str] = []

    def blocks(self) -> Iterator[np.ndarray]:
        """float32 (samples,), one after the other."""
        with opened_container(self.file) as container:
            stream = audio_stream(container)
            self.found = any(each.type == "audio" for each in container.streams)  # perhaps in an unknown codec
            if stream is not None:
                yield from self._resampled(container, stream)

    def _resampled(self, container: Any, stream: Any) -> Iterator[np.ndarray]:
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=self.rate)
        for packet in packets(container, stream, failures=self.failures):
            for frame in decoded(stream, packet, failures=self.failures):
                if self.start is None:
                    self.start = float(frame.time or 0.0) if math.isfinite(frame.time or 0.0) else 0.0
                yield from self._converted(resampler, frame)
        if self.start is not None:
            yield from self._converted(resampler, None)

    def _converted(self, resampler: av.AudioResampler, frame: av.AudioFrame | None) -> Iterator[np.ndarray]:
        try:
            frames = resampler.resample(frame)
        except (av.error.FFmpegError, ValueError) as error:  # the sound changes its layout in mid-stream
            self.failures.append(str(error))
            return
        for converted in frames:
            yield converted.to_ndarray()[0]  # (samples,)
