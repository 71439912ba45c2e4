"""The sound of one video through audio networks: rows in presentation time, zeros where there is no sound.

The rows follow from the picture's duration alone, so a video has the same rows with and without a sound track.
`valid` counts the frames during which there is true sound; silence is sound, a missing track is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from extractors.base import AudioExtractor
from pipeline.decoding import Audio, OpenedFile, read_audio
from pipeline.extraction.forward_pass import RowsMade, batch_of, forward_batch, untold
from pipeline.extraction.sound_rows import sound_rows, window_starts
from pipeline.index import VideoRow
from pipeline.params import Sampling
from pipeline.store import Rows

AudioRows = tuple[dict[str, np.ndarray], Rows]


def extract_audio(
    extractors: Sequence[AudioExtractor],
    rules: Sequence[Sampling],
    *,
    row: VideoRow,
    times: np.ndarray,
    file: OpenedFile | None = None,
    told: Sequence[RowsMade] = (),
) -> list[AudioRows]:
    """Extractors of one rate: the sound is decoded and resampled once. `told`: by network."""
    audio = audio_of(row, rate=extractors[0].rate, file=file)
    return [
        audio_rows(extractor, audio, rule=rule, times=times, duration=row.duration, told=teller)
        for extractor, rule, teller in zip(extractors, rules, told or [untold] * len(rules), strict=True)
    ]


def audio_of(row: VideoRow, *, rate: int, file: OpenedFile | None = None) -> Audio:
    """Sound from the first frame on; a video that is known to have none is not opened."""
    if row.audio != "present":
        return Audio(np.empty(0, np.float32), rate, row.audio, 0.0, 0.0)
    return read_audio(row, rate, file)


def audio_rows(
    extractor: AudioExtractor,
    audio: Audio,
    *,
    rule: Sampling,
    times: np.ndarray,
    duration: float,
    told: RowsMade = untold,
) -> AudioRows:
    """One row of every output per window, and the table that says what the rows are."""
    starts = window_starts(extractor, rule, duration=duration)
    rows = sound_rows(starts, extractor, times=times, duration=duration, audible=(audio.start, audio.end))
    samples = audio.samples[: round(duration * audio.rate)]
    outputs = {name: np.zeros((len(rows), *shape), np.float32) for name, shape in extractor.outputs.items()}
    told(0, len(rows))
    with_sound, size = np.flatnonzero(rows.valid), batch_of(extractor)
    for first in range(0, len(with_sound), size):
        chosen = with_sound[first : first + size]
        windows = [cut(samples, int(start), length=extractor.window) for start in starts[chosen]]
        found = forward_batch(extractor, torch.stack([extractor.prepare(window) for window in windows]))
        for name, values in found.items():
            outputs[name][chosen] = values
        told(len(rows) - len(with_sound) + first + len(chosen), len(rows))
    return outputs, rows


def cut(samples: np.ndarray, start: int, *, length: int) -> np.ndarray:
    """`length` samples from `start`, which may lie before the first; zeros where there are none."""
    window = np.zeros(length, np.float32)
    first, last = max(start, 0), min(start + length, len(samples))
    if last > first:
        window[first - start : last - start] = samples[first:last]
    return window
