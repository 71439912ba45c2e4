"""npz archives of unknown origin: sizes are checked before anything is unpacked, and nothing is unpickled."""

from __future__ import annotations

import zipfile
from math import prod
from pathlib import Path

import numpy as np

from pipeline.core import UNREADABLE, InputError, printable


def read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(path) as archive:
            return {info.filename.removesuffix(".npy"): _array(archive, info) for info in archive.infolist()}
    except (ValueError, *UNREADABLE) as error:
        raise _unreadable(path, error) from error


def npz_bytes(path: Path) -> int:
    """What the archive's directory says it becomes; more than this is never unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(info.file_size for info in archive.infolist())
    except (ValueError, *UNREADABLE) as error:
        raise _unreadable(path, error) from error


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """numpy makes room for what the header says before it reads, so the header must say what the member has."""
    with archive.open(info) as stream:
        stated = _stated_bytes(stream)  # type: ignore[arg-type]
    if stated > info.file_size:
        told = f"'{printable(info.filename)}' says that it has {stated:,} bytes of numbers; it has {info.file_size:,}"
        raise ValueError(told)
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _stated_bytes(stream: zipfile.ZipExtFile) -> int:
    read = np.lib.format.read_array_header_2_0
    if np.lib.format.read_magic(stream) == (1, 0):
        read = np.lib.format.read_array_header_1_0
    shape, _, dtype = read(stream)
    return prod(shape) * dtype.itemsize


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"'{path}' is not an archive of arrays that can be read: {error}")
