"""Small pictures as data URIs: JPEG thumbnails of frames, and attention as one row of translucent pixels."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

THUMBNAIL = (176, 132)  # pixels at most
JPEG_QUALITY = 72
ATTENTION_RGB = (24, 140, 190)  # readable on light and dark; the alpha channel carries the weight


def spread_indices(frames: int, count: int) -> list[int]:
    """The middle frames of `count` equal parts; fewer when the video is shorter."""
    parts = min(frames, count)
    return [(2 * part + 1) * frames // (2 * parts) for part in range(parts)]


def thumbnail(frame: np.ndarray) -> str:
    """A uint8 (H, W, 3) RGB frame as a small JPEG."""
    image = Image.fromarray(frame)
    image.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return _uri("image/jpeg", buffer.getvalue())


def attention_strip(weights: Sequence[float], *, peak: float) -> str:
    """One pixel a feature row; `peak` is the weight drawn opaque, shared by the words of a sentence."""
    shares = np.clip(np.nan_to_num(np.asarray(weights, dtype=np.float64)) / (peak or 1.0), 0, 1)  # (rows,)
    pixels = np.empty((1, len(shares), 4), dtype=np.uint8)
    pixels[..., :3] = ATTENTION_RGB
    pixels[..., 3] = np.round(shares * 255)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    return _uri("image/png", buffer.getvalue())


def _uri(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
