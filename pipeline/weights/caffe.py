"""C3D's mean volume: one array in a protocol buffer, read by the wire format alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pipeline.core import InputError

SIZES = {1: "num", 2: "channels", 3: "length", 4: "height", 5: "width"}  # fields of C3D's BlobProto
DATA = 6
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types


def read_blob(data: bytes, *, source: str) -> dict[str, np.ndarray]:
    """`data` as (channels, length, height, width), or with `num` in front when there are several."""
    sizes, numbers = dict.fromkeys(SIZES, 1), []
    try:
        for field, value in _fields(data):
            if field in SIZES and isinstance(value, int):
                sizes[field] = value
            elif field == DATA and isinstance(value, bytes):
                numbers.append(np.frombuffer(value, "<f4"))
        volume = np.concatenate(numbers).reshape([sizes[field] for field in SIZES])
    except (IndexError, ValueError) as error:
        raise InputError(f"{source} is not a mean volume of Caffe: {error}") from error
    return {"data": volume[0].copy() if sizes[1] == 1 else volume}


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == VARINT:
            value, place = _varint(data, place)
            yield key >> 3, value
            continue
        size, place = _varint(data, place) if kind == BYTES else ({FIXED32: 4, FIXED64: 8}.get(kind, -1), place)
        if size < 0 or place + size > len(data):
            raise ValueError(f"field {key >> 3} at byte {place} goes beyond the end or is of unknown kind {kind}")
        yield key >> 3, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
        if shift > 63:
            raise ValueError(f"a number at byte {place} never ends")
