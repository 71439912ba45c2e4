"""A safetensors file that can check itself: a checksum of its header, and a check value per tensor.

Written one tensor at a time, read through mmap without copying; a tensor is checked when it is first read.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pipeline.core import SEAL, DamageError, InputError, publishing, seal_is_whole, sealed

NAMES = {  # numpy's name -> that of safetensors
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}
DTYPES = {short: np.dtype(name).newbyteorder("<") for name, short in NAMES.items()}
PREFIX = b'{"__metadata__":{"header":"'  # every header begins so: the checksum has a fixed place
LENGTH = 8  # bytes of the header's length, little-endian
ALIGNMENT = 64
PAGE = 4096


@dataclass(frozen=True)
class Spec:
    """A tensor without its bytes."""

    dtype: str  # numpy's name
    shape: tuple[int, ...]
    check: str = "0" * 8

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Written:
    sha256: str  # of the file
    bytes: int
    header: str  # its checksum


def spec_of(array: np.ndarray) -> Spec:
    if array.dtype.name not in NAMES:
        raise InputError(f"an array of {array.dtype} cannot be stored; allowed: {', '.join(NAMES)}")
    return Spec(array.dtype.name, array.shape, check_value(array))


def check_value(array: np.ndarray) -> str:
    """Eight hex digits that any changed bit, and any two changed words, change; several times faster than a CRC.

    The CRC-32 of what lies behind the last whole 4,096-byte page, then of the sums of the 512 columns and of the
    rows of the table whose rows are the pages, in 64-bit words modulo 2**64. Rows and columns can only both keep their
    sums when four words or more change together.
    """
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = len(data) // PAGE * PAGE
    value = zlib.crc32(data[whole:].data)
    if whole:
        table = data[:whole].view("<u8").reshape(-1, PAGE // 8)
        value = zlib.crc32(table.sum(axis=1), zlib.crc32(table.sum(axis=0), value))
    return f"{value:08x}"


def order(specs: Mapping[str, Spec]) -> list[str]:
    """Keys as their bytes lie in the file: wide numbers first, so that all are aligned; then by name."""
    return sorted(specs, key=lambda key: (-np.dtype(specs[key].dtype).itemsize, key))


def header_of(specs: Mapping[str, Spec], *, metadata: Mapping[str, str] | None = None) -> bytes:
    """Length and header, with its checksum. Its size depends on names and shapes only."""
    checks = {f"check/{key}": specs[key].check for key in sorted(specs)}
    fields: dict[str, Any] = {"__metadata__": {"header": SEAL.decode(), **checks, **(metadata or {})}}
    place = 0
    for key in order(specs):
        spec, begin = specs[key], place
        place += spec.nbytes
        fields[key] = {"dtype": NAMES[spec.dtype], "shape": list(spec.shape), "data_offsets": [begin, place]}
    text = json.dumps(fields, separators=(",", ":")).encode()
    text += b" " * (-(LENGTH + len(text)) % ALIGNMENT)
    return sealed(len(text).to_bytes(LENGTH, "little") + text, at=LENGTH + len(PREFIX))


def write_tensors(
    path: Path,
    specs: Mapping[str, Spec],
    tensor: Callable[[str], np.ndarray],
    *,
    metadata: Mapping[str, str] | None = None,
    temporary_folder: Path | None = None,
) -> Written:
    """Publish a file of the tensors that `tensor` gives, one after the other, so that memory holds one."""
    header = header_of(specs, metadata=metadata)
    checksum = header[LENGTH + len(PREFIX) :][: len(SEAL)].decode()
    with publishing(path, temporary_folder=temporary_folder) as temporary, temporary.open("wb") as stream:
        sha256, size = _write(stream, [header], _checked(specs, tensor))
    return Written(sha256, size, checksum)


def _checked(specs: Mapping[str, Spec], tensor: Callable[[str], np.ndarray]) -> Iterator[np.ndarray]:
    for key in order(specs):
        array = np.asarray(tensor(key), order="C")  # unlike ascontiguousarray it leaves a scalar one
        if spec_of(array) != specs[key]:
            raise DamageError(f"'{key}' changed while it was copied", hint="run the same command again")
        yield array


def _write(stream: BinaryIO, *parts: Iterable[Any]) -> tuple[str, int]:
    sha256, size = hashlib.sha256(), 0
    for part in (each for some in parts for each in some):
        data = part if isinstance(part, bytes) else part.reshape(-1).view(np.uint8).data
        sha256.update(data)
        stream.write(data)
        size += len(data)
    return sha256.hexdigest(), size


class TensorFile(Mapping[str, np.ndarray]):
    """Read-only views of the file. A damaged header is refused at once, a damaged tensor when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map = _mapped(path)
        length = int.from_bytes(self._map[:LENGTH], "little")
        self._data = LENGTH + length
        header = self._map[: self._data]
        if len(header) != self._data or not seal_is_whole(header, at=LENGTH + len(PREFIX)):
            raise DamageError(f"{path} is damaged: its header is not what was written", hint=_hint(path))
        self.checksum = header[LENGTH + len(PREFIX) :][: len(SEAL)].decode()
        self._fields = json.loads(header[LENGTH:])
        self.metadata: dict[str, str] = self._fields.pop("__metadata__")
        self._whole: set[str] = set()
        end = max((field["data_offsets"][1] for field in self._fields.values()), default=0)
        if self._data + end != len(self._map):
            stated = f"{path} is damaged: it has {len(self._map)} bytes, its header says {self._data + end}"
            raise DamageError(stated, hint=_hint(path))

    def __getitem__(self, key: str) -> np.ndarray:
        array = self._view(key)
        if key not in self._whole:
            if check_value(array) != self.metadata[f"check/{key}"]:
                raise DamageError(f"{self.path} is damaged: the bytes of '{key}' changed", hint=_hint(self.path))
            self._whole.add(key)
        return array

    def __contains__(self, key: object) -> bool:
        return key in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def spec(self, key: str) -> Spec:
        """Of the header, without a look at the bytes."""
        field = self._fields[key]
        return Spec(DTYPES[field["dtype"]].name, tuple(field["shape"]), self.metadata[f"check/{key}"])

    def _view(self, key: str) -> np.ndarray:
        field = self._fields[key]
        begin, _ = field["data_offsets"]
        count = prod(field["shape"])
        array = np.frombuffer(self._map, DTYPES[field["dtype"]], count, offset=self._data + begin if count else 0)
        return array.reshape(field["shape"])


def _mapped(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise DamageError(f"{path} is missing", hint=_hint(path)) from error
    except ValueError as error:  # an empty file cannot be mapped
        raise DamageError(f"{path} is damaged: it is empty", hint=_hint(path)) from error


def _hint(path: Path) -> str:
    return f"framescribe store verify {path.parent}, then framescribe store repair {path.parent}"
