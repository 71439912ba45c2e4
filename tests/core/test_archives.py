"""Archives that came damaged: every reader tells it in words, whatever Python raised."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import InputError
from pipeline.datasets.sources import _read_member
from pipeline.store_tools.foreign_npz import read_npz
from pipeline.weights.packages import read_member
from pipeline.weights.reading import read_published

MEMBER = "feat.npy"
READERS: dict[str, Callable[[Path], object]] = {
    "annotations": lambda path: _read_member(path, [MEMBER]),
    "features": read_npz,
    "package": lambda path: read_member(path, MEMBER),
    "weights": lambda path: read_published(path.read_bytes(), layout="arrays", source=path.name),
}


def flipped(data: bytearray) -> None:
    """Bits of the packed member, which is most of the file."""
    data[100:140] = bytes(byte ^ 0xFF for byte in data[100:140])


def cut(data: bytearray) -> None:
    del data[len(data) // 2 :]


def encrypted(data: bytearray) -> None:
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + flags] |= 1


def packed_unknown(data: bytearray) -> None:
    for signature, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(signature) + method] = 99


@pytest.mark.parametrize("damage", [flipped, cut, encrypted, packed_unknown])
@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_archive_is_told_in_words(reader: str, damage: Callable[[bytearray], None], tmp_path: Path) -> None:
    path = tmp_path / "archive.whl"
    numbers = np.random.default_rng(0).integers(0, 9, 4000)
    with path.open("wb") as stream:
        np.savez_compressed(stream, feat=numbers)
    assert zipfile.is_zipfile(path)
    READERS[reader](path)
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)

    with pytest.raises(InputError, match=r"archive\.whl"):
        READERS[reader](path)
