"""What a published check feeds to a network: a file that others have too, or what is made here, everywhere the same.

Made pictures are whole numbers and no library's noise, so that no machine and no version draws others.
"""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image
from pydantic import BaseModel, ConfigDict

from extractors.base import AudioExtractor, Extractor
from pipeline.core import InputError
from pipeline.extraction.audio_features import cut
from pipeline.extraction.reference_resampling import resampled
from pipeline.extraction.sound_rows import window_starts
from pipeline.params import Sampling
from pipeline.weights import Digests

SIDE = 256  # of a made picture
MOTION = (-3, 5)  # pixels down and to the right, from the first picture of a pair to the second


class CheckInput(BaseModel):
    """A file: frames or flow of one clip (npy, npz), cropped, uint8 (T, H, W, 3) or as the network takes them, -1..1,
    or, with `whole`, frames as they were decoded; a picture (jpg); a sound (wav); a video (mp4). Or it is `made` here.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    made: Literal["", "sine", "picture", "pair"] = ""
    file: str = ""
    array: str = ""  # of an npz file
    sha256: str = ""
    git_blob: str = ""
    size: int = 0  # bytes, where nobody published a hash
    unproven: str = ""  # why nothing is known of its bytes
    where: str = ""
    whole: bool = False
    recoded_fps: int = 0  # of a video: it is encoded again at that rate first

    @property
    def is_clip(self) -> bool:
        """Whether it goes into the network as it is, past what makes clips of frames and flow of clips."""
        return self.file.endswith((".npy", ".npz")) and not self.whole

    @property
    def is_video(self) -> bool:
        return self.file.endswith(".mp4")


def require_file(wanted: CheckInput, folder: Path) -> bytes:
    """Of the very file that the numbers were published for."""
    data = (folder / wanted.file).read_bytes()
    found = Digests.of(data)
    known = wanted.sha256 or found.sha256, wanted.git_blob or found.git_blob, wanted.size or len(data)
    if known != (found.sha256, found.git_blob, len(data)):
        raise InputError(
            f"{folder / wanted.file} is another file: {len(data)} bytes, its sha256 is {found.sha256}",
            hint=wanted.where,
        )
    return data


def check_batch(wanted: CheckInput, extractor: Extractor, sampling: Sampling, *, folder: Path) -> torch.Tensor:
    """The rows of the check, prepared for the network."""
    if wanted.made == "picture":
        return extractor.prepare(picture())[None]
    if wanted.made == "pair":
        return torch.stack([extractor.prepare(frame) for frame in pair()])[None]  # (1, 2, ...)
    if wanted.is_clip:
        return _clip(require_file(wanted, folder), wanted.array)
    if wanted.whole:
        return torch.stack([extractor.prepare(frame) for frame in _array(require_file(wanted, folder), "")])[None]
    if wanted.file.endswith(".jpg"):
        return extractor.prepare(np.array(Image.open(io.BytesIO(require_file(wanted, folder))).convert("RGB")))[None]
    if not isinstance(extractor, AudioExtractor):
        raise TypeError(f"a sound for an extractor that takes {extractor.takes}")
    samples = sine(extractor.rate) if wanted.made else _sound(require_file(wanted, folder), rate=extractor.rate)
    return _windows(samples, extractor, sampling)


def sine(rate: int) -> np.ndarray:
    """Three seconds of 1 kHz at full amplitude: what VGGish's authors test with."""
    return np.sin(2 * np.pi * 1000 * np.arange(0, 3, 1 / rate)).astype(np.float32)


def picture() -> np.ndarray:
    """(256, 256, 3) uint8: waves, ramps and edges, other ones in every colour."""
    y, x = np.mgrid[:SIDE, :SIDE]
    colours = [x * x // 97 + 3 * y, y * y // 61 + 2 * x, x * y // 41 + x + y]
    return np.stack([np.abs(colour % 510 - 255) for colour in colours], axis=-1).astype(np.uint8)


def pair() -> list[np.ndarray]:
    """The picture, and the same one moved; what leaves it comes in again on the other side."""
    return [picture(), np.ascontiguousarray(np.roll(picture(), MOTION, axis=(0, 1)))]


def _clip(data: bytes, name: str) -> torch.Tensor:
    """(1, C, T, H, W)"""
    array = _array(data, name)
    clip = torch.from_numpy(array.reshape(-1, *array.shape[-3:])).permute(3, 0, 1, 2)  # (C, T, H, W)
    return (clip * (2 / 255) - 1 if clip.dtype == torch.uint8 else clip.float()).unsqueeze(0)


def _array(data: bytes, name: str) -> np.ndarray:
    """Nothing in the file is run."""
    loaded = np.load(io.BytesIO(data), allow_pickle=False)
    return loaded[name] if name else loaded


def _sound(data: bytes, *, rate: int) -> np.ndarray:
    """(samples,) of a wav file of 16 bits and one channel."""
    with wave.open(io.BytesIO(data)) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2") / np.float32(32768)
        return resampled(samples, sound.getframerate(), rate)


def _windows(samples: np.ndarray, extractor: AudioExtractor, sampling: Sampling) -> torch.Tensor:
    starts = window_starts(extractor, sampling, duration=len(samples) / extractor.rate)
    return torch.stack([extractor.prepare(cut(samples, int(start), length=extractor.window)) for start in starts])
