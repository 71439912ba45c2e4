"""One small file of every layout that a publisher uses."""

from __future__ import annotations

import gzip
import io
import pickle
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from safetensors.torch import save

from tests.extractors.darknet import HEADER
from tests.weights.making import published

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def _hdf5() -> bytes:
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file["conv/kernel:0"] = ARRAY
        file["note"] = "text is no weight"
        file["elsewhere"] = h5py.ExternalLink("/etc/passwd", "/")
        file["circle"] = h5py.SoftLink("/")
    return stream.getvalue()


def _npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, a=ARRAY)
    return stream.getvalue()


def npy(value: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, value, allow_pickle=True)
    return stream.getvalue()


def _varint(value: int) -> bytes:
    digits = []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _blob(*, packed: bool) -> bytes:
    """C3D's BlobProto: num, channels, length, height, width, then the numbers."""
    sizes = b"".join(bytes([field << 3]) + _varint(size) for field, size in enumerate((1, 1, 2, 3, 4), start=1))
    raw = ARRAY.tobytes()
    if packed:
        return sizes + bytes([6 << 3 | 2]) + _varint(len(raw)) + raw
    return sizes + b"".join(bytes([6 << 3 | 5]) + raw[place : place + 4] for place in range(0, len(raw), 4))


LAYOUTS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "torch": ("torch", lambda: published({"a": torch.from_numpy(ARRAY)}), "a"),
    "pickle": ("arrays", lambda: pickle.dumps({"a": ARRAY}), "a"),
    "npz": ("arrays", _npz, "a"),
    "npy of a dictionary": ("arrays", lambda: npy({"a": ARRAY}), "a"),
    "hdf5": ("hdf5", _hdf5, "conv/kernel:0"),
    "hdf5 in gzip": ("hdf5", lambda: gzip.compress(_hdf5()), "conv/kernel:0"),
    "safetensors": ("safetensors", lambda: save({"a": torch.from_numpy(ARRAY)}), "a"),
    "darknet": ("darknet", lambda: HEADER + ARRAY.tobytes(), "numbers"),
    "mean volume": ("caffe_blob", lambda: _blob(packed=True), "data"),
    "mean volume, number by number": ("caffe_blob", lambda: _blob(packed=False), "data"),
}
every_layout = pytest.mark.parametrize(("layout", "make", "key"), LAYOUTS.values(), ids=list(LAYOUTS))
