"""Another reader, written from docs/feature-store.md alone, with nothing of the project's own code."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from urllib.parse import quote

import numpy as np

from pipeline.store import write_store
from tests.store.making import features

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8"}


def sealed(data: bytes, at: int) -> bool:
    return hashlib.sha256(data[:at] + b"0" * 64 + data[at + 64 :]).hexdigest().encode() == data[at : at + 64]


def check_value(data: bytes) -> str:
    whole = len(data) // 4096 * 4096
    value = zlib.crc32(data[whole:])
    if whole:
        table = np.frombuffer(data[:whole], "<u8").reshape(-1, 512)
        value = zlib.crc32(table.sum(axis=0).tobytes(), value)
        value = zlib.crc32(table.sum(axis=1).tobytes(), value)
    return f"{value:08x}"


def read(folder: Path, video_id: str, name: str) -> np.ndarray:
    text = (folder / "store.json").read_bytes()
    assert sealed(text, text.index(b'"checksum": "') + 13)
    manifest = json.loads(text)
    digest = hashlib.sha256(video_id.encode("utf-8", "surrogateescape")).digest()
    shard = f"shard-{int.from_bytes(digest[:8], 'big') % manifest['shard_count']:04d}.safetensors"
    data = (folder / shard).read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    assert sealed(data[:begin], data.index(b'"header":"') + 10)
    header = json.loads(data[8:begin])
    assert header["__metadata__"]["header"] == manifest["shards"][shard]["header"]
    assert hashlib.sha256(data).hexdigest() == manifest["shards"][shard]["sha256"]
    key = f"{quote(video_id, safe='', errors='surrogateescape')}/{name}"
    first, last = header[key]["data_offsets"]
    payload = data[begin + first : begin + last]
    assert check_value(payload) == header["__metadata__"][f"check/{key}"]
    return np.frombuffer(payload, TYPES[header[key]["dtype"]]).reshape(header[key]["shape"])


def test_the_other_reader_reads_the_same(tmp_path: Path) -> None:
    videos = {name: features(number, rows=40, columns=300) for number, name in enumerate(["a", "b c", "é/1"])}
    write_store(tmp_path / "store", videos, fingerprint={})

    for video_id, video in videos.items():
        for name, array in video.parts().items():
            np.testing.assert_array_equal(read(tmp_path / "store", video_id, name), array)
