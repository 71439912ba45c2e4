"""The bytes of a store, recorded: stores that lie in DVC's caches and on object stores must stay what they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.core import SEAL, Derived
from pipeline.core.errors import DamageError
from pipeline.store import (
    MANIFEST,
    Failure,
    Rows,
    TensorFile,
    VideoFeatures,
    shard_of,
    spec_of,
    write_store,
    write_tensors,
)
from pipeline.store.manifest import read_manifest, shard_count, write_manifest
from pipeline.store.tensor_file import LENGTH
from tests.store.making import content

RECORDED = {  # name -> sha256
    "shard-0002.safetensors": "d367030b623746389322eb955f12a2b4a0f62f55ee238b36c5762189c59d4b82",
    "shard-0006.safetensors": "8c632f3df70d79581f2e6808cfa199248e4993e9f8f56d04f2a7b34836f069aa",
    "shard-0010.safetensors": "86e36d50f69d2dbaef6b6b051b988d6560d71f3e2bbdcec0672c1a176ba4fa8a",
    "store.json": "934f34bb5b78029e5f068a218785de5ca94dc0e3eae5f1ec2d51e10775ec69cf",
}


def counted(rows: int) -> VideoFeatures:
    """Features without chance: more than a page of them, of two types."""
    frames = np.arange(rows, dtype=np.int64)
    return VideoFeatures(
        tensors={
            "pool": np.arange(rows * 700, dtype=np.float32).reshape(rows, 700),
            "grid": (np.arange(rows * 8) / 4).astype(np.float16).reshape(rows, 2, 4),
        },
        rows=Rows(first_frame=frames, last_frame=frames + 1, start=frames / 4, end=(frames + 2) / 4, valid=frames + 1),
    )


def test_equal_features_are_the_bytes_of_before(tmp_path: Path) -> None:
    videos = {"a": counted(3), "b c": counted(1), "none": counted(0)}
    write_store(tmp_path / "s", videos, fingerprint={"weights": "none"}, failures={"bad": Failure("crash", "gone")})

    assert content(tmp_path / "s") == RECORDED


@pytest.mark.parametrize(
    ("videos", "shards"), [(0, 16), (1, 16), (8192, 16), (8193, 256), (131072, 256), (131073, 1024)]
)
def test_shards_by_the_number_of_videos(videos: int, shards: int) -> None:
    assert shard_count(videos) == shards


def test_a_video_stays_in_its_shard() -> None:
    assert [shard_of(name) for name in ("video0", "video1", "ü", "")] == [8, 9, 4, 4]
    assert [shard_of(name, 64) % 16 for name in ("video0", "video1")] == [shard_of("video0"), shard_of("video1")]


def test_a_file_of_nothing_can_be_read_and_one_that_is_too_long_says_by_how_much(tmp_path: Path) -> None:
    path = tmp_path / "empty.safetensors"
    written = write_tensors(path, {}, {}.__getitem__)
    assert (list(TensorFile(path)), written.bytes, written.bytes % 64) == ([], path.stat().st_size, 0)

    path = tmp_path / "one.safetensors"
    array = np.arange(3, dtype=np.int16)
    size = write_tensors(path, {"a": spec_of(array)}, {"a": array}.__getitem__).bytes
    assert (size - 6) % 64 == 0  # the tensor begins where a cache line does
    assert int.from_bytes(path.read_bytes()[:LENGTH], "little") == size - 6 - 8
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(DamageError, match=f"it has {size + 1} bytes, its header says {size}"):
        TensorFile(path)


@pytest.mark.parametrize("videos", [{}, {"b": 1}, {"b": 1, "a\udcff {}\n": 2, "ü": 3}])
def test_facts_of_one_video_after_another_are_the_json_of_all(tmp_path: Path, videos: dict[str, int]) -> None:
    manifest = {"schema": 2, "failures": {}, "fingerprint": {"x": "{}\n}"}, "sizes": {"rows": 1}}
    facts = {video: {"rows": rows, "decoder": "pyav"} for video, rows in videos.items()}

    write_manifest(tmp_path, {**manifest, "videos": Derived(videos, facts.__getitem__)})

    whole = json.dumps({"checksum": SEAL.decode(), **manifest, "videos": facts}, indent=1, sort_keys=True) + "\n"
    data = (tmp_path / MANIFEST).read_bytes()
    assert data[:16] + SEAL + data[80:] == whole.encode()
    assert read_manifest(tmp_path)["videos"] == facts
