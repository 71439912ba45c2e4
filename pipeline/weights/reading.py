"""The bytes of a published file as a tree of tensors or arrays. No way of reading runs code of the file's.

A small file that would unfold to a huge one is refused before it is unfolded.
"""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline.core import UNREADABLE, InputError
from pipeline.weights.caffe import read_blob
from pipeline.weights.safe_pickle import Dtype, read_arrays, scalar

ADVICE = ("Weights only load failed", "Check the documentation")  # how torch's paragraphs about loading code begin
LIMIT = 4 * 2**30  # bytes of a file, packed or unfolded: several times the largest in the registry


def read_published(data: bytes, *, layout: str, source: str) -> Any:
    """What `map_published` of the family gets: nested dictionaries and lists of tensors or arrays."""
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data, source)
    readers: dict[str, Callable[..., Any]] = {
        "torch": _torch,
        "arrays": _arrays,
        "hdf5": _hdf5,
        "safetensors": _safetensors,
        "caffe_blob": read_blob,
        "darknet": _darknet,
    }
    return readers[layout](data, source=source)


def _gunzip(data: bytes, source: str) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            unfolded = stream.read(LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{source} is not a whole gzip file: {error}") from error
    _require_small(len(unfolded), source)
    return unfolded


def _torch(data: bytes, *, source: str) -> Any:
    import torch

    _refuse_zip_bomb(data, source)
    # Numbers of numpy's, such as an accuracy beside the tensors, become our own stand-ins.
    numbers = [(scalar, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals([(Dtype, "numpy.dtype"), *numbers]):
            return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, LookupError, TypeError, OSError) as error:
        reason = _first_sentence(str(error))
        raise InputError(
            f"{source} is not a file of tensors alone: {reason or type(error).__name__}",
            hint="if you trust it: load it elsewhere, save its state as safetensors, import that with --trust",
        ) from error


def _first_sentence(message: str) -> str:
    """Of what torch's reader says of the file; the rest is advice to load it as code."""
    paragraphs = message.rpartition("WeightsUnpickler error:")[2].split("\n\n")
    stated = [each.strip() for each in paragraphs if not each.strip().startswith(ADVICE)]
    return "".join(stated[:1]).split(". ")[0].split(", ")[0]


def _arrays(data: bytes, *, source: str) -> Any:
    """A pickle, or numpy's own formats, which may have a pickle inside."""
    if data[:4] == b"PK\x03\x04":
        return _npz(data, source=source)
    if data[:6] == b"\x93NUMPY":
        return _npy(data, source=source)
    return read_arrays(data, source=source)


def _npz(data: bytes, *, source: str) -> dict[str, Any]:
    _refuse_zip_bomb(data, source)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    except UNREADABLE as error:
        raise InputError(f"{source} is not a whole npz file: {error}") from error
    return {name: _npy(member, source=f"{name} in {source}") for name, member in members.items()}


def _npy(data: bytes, *, source: str) -> Any:
    stream = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("only version 1.0 of the format is read")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.hasobject:
            return read_arrays(data[stream.tell() :], source=source)
        array = np.frombuffer(data, dtype, offset=stream.tell())
        return array.reshape(shape, order="F" if fortran else "C").copy()
    except (ValueError, EOFError, MemoryError) as error:
        raise InputError(f"{source} is not a whole npy file: {error}") from error


def _darknet(data: bytes, *, source: str) -> dict[str, np.ndarray]:
    """Three numbers of a version, the pictures seen (in eight bytes since 0.2), then weights without names."""
    version = np.frombuffer(data[:8], "<i4")
    wide = len(version) == 2 and 2 <= version[0] * 10 + version[1] < 1000
    body = data[20 if wide else 16 :]
    if len(version) < 2 or version.min() < 0 or version.max() >= 1000 or not body or len(body) % 4:
        raise InputError(f"{source} is not a whole file of darknet's")
    return {"numbers": np.frombuffer(body, "<f4").copy()}


def _safetensors(data: bytes, *, source: str) -> Any:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(data)
    except SafetensorError as error:
        raise InputError(f"{source} is not a safetensors file: {error}") from error


def _hdf5(data: bytes, *, source: str) -> dict[str, np.ndarray]:
    """Every data set by its path, as Keras writes its weights."""
    import h5py

    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            found = dict(_data_sets(file))
            _require_small(sum(each.nbytes for each in found.values()), source)
            return {path: np.asarray(each[()]) for path, each in found.items()}
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{source} is not a whole HDF5 file: {error}") from error


def _data_sets(group: Any) -> Iterator[tuple[str, Any]]:
    """Only what lies in the file itself: links, which may lead to other files or in a circle, are not followed."""
    import h5py

    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.HardLink):
            item = group[name]
            if isinstance(item, h5py.Group):
                yield from _data_sets(item)
            elif item.external is None and not item.is_virtual and item.dtype.kind in "biuf":
                yield item.name.lstrip("/"), item


def _refuse_zip_bomb(data: bytes, source: str) -> None:
    if data[:2] != b"PK":
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _require_small(sum(member.file_size for member in archive.infolist()), source)
    except zipfile.BadZipFile as error:
        raise InputError(f"{source} is not a whole file: {error}") from error


def _require_small(size: int, source: str) -> None:
    if size > LIMIT:
        raise InputError(f"{source} would unfold to {size:,} bytes; at most {LIMIT:,} are read")
