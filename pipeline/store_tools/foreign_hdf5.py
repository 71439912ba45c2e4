"""HDF5 files of unknown origin: arrays that lie in the file itself, and nothing that it points at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from math import prod
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from pipeline.core import InputError, printable
from pipeline.store_tools.export_names import ABOUT
from pipeline.store_tools.export_store import hdf5

BROKEN = (OSError, RuntimeError, ValueError, KeyError)  # what h5py raises for bytes that are no HDF5
LINKS = {"ExternalLink": "a link to another file", "SoftLink": "a link to another place, which may be in another file"}


class ForeignHdf5(AbstractContextManager[tuple[dict[str, Any], list[Path]]]):
    """Datasets or groups by id, and the file they are in."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> tuple[dict[str, Any], list[Path]]:
        try:
            self.file = hdf5().File(self.path, "r")
        except OSError as error:
            raise InputError(f"'{self.path}' is not an HDF5 file: {error}") from error
        try:
            ours = ABOUT in self.file.attrs
            names = {unquote(name, errors="surrogateescape") if ours else name: name for name in self.file}
            return {video_id: _member(self.file, name) for video_id, name in names.items()}, [self.path]
        except BaseException as error:
            self.file.close()
            if isinstance(error, BROKEN):
                raise InputError(f"'{self.path}' cannot be read: {error}") from error
            raise

    def __exit__(self, *_: object) -> None:
        self.file.close()


def read_hdf5(place: Any) -> dict[str, np.ndarray]:
    """The arrays of one video, which is a dataset (its array has no name) or a group of them."""
    try:
        return {name: np.asarray(dataset) for name, dataset in _datasets(place)}
    except BROKEN as error:
        raise InputError(f"{_told(place)} cannot be read: {error}") from error


def hdf5_bytes(place: Any) -> int:
    """What the arrays of one video become in memory. To read a number, its whole chunk is unpacked."""
    arrays = [dataset for _, dataset in _datasets(place)]
    return sum(max(prod(array.shape), prod(array.chunks or (0,))) * array.dtype.itemsize for array in arrays)


def _datasets(place: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(place, hdf5().Group):
        yield "", _plain(place)
        return
    for name in place:
        yield name, _plain(_member(place, name))


def _member(group: Any, name: str) -> Any:
    """What the group holds itself: a link is told, and not followed."""
    link = group.get(name, getlink=True)
    if (kind := type(link).__name__) != "HardLink":
        target = printable(str(getattr(link, "filename", link.path)))
        where = f"'{group.file.filename}': '{printable(name)}'"
        hint = "copy the arrays into one file (h5copy, or h5py)"
        raise InputError(f"{where} is {LINKS.get(kind, 'a link')} ('{target}'), which is not read", hint=hint)
    return group[name]


def _plain(dataset: Any) -> Any:
    """An array of numbers whose bytes are in the file."""
    if not isinstance(dataset, hdf5().Dataset) or dataset.shape is None:
        raise InputError(f"{_told(dataset)} is not an array: expected one per video, or a group of them per video")
    if dataset.external or dataset.is_virtual:
        raise InputError(
            f"{_told(dataset)} keeps its bytes in other files, which are not read",
            hint="copy the arrays into one file (h5repack, or h5py)",
        )
    if dataset.dtype.kind not in "fiub":
        told = f"{_told(dataset)} is an array of {dataset.dtype}, not of numbers"
        raise InputError(told, hint="expected is an array per video, called by its id: file[id] = array")
    return dataset


def _told(place: Any) -> str:
    return f"'{place.file.filename}': '{printable(str(place.name))}'"
