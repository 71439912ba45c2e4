"""Machines that share only a URL: one computes, the other has it; damage and absence cost time, not results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.cache.feature_cache import entry_path, get_features, put_features
from pipeline.core.errors import InputError
from pipeline.core.executors import InProcess
from pipeline.core.hashing import file_sha256
from pipeline.decoding import decode
from pipeline.extraction import extract
from pipeline.extraction.extract_video import _index
from pipeline.params.decode import Decode
from pipeline.remote import transfer
from pipeline.remote.shared import VARIABLE
from tests.remote.conftest import upload
from tests.store.making import QUIET, content, features, toy

KEY = "ab" + "0" * 62


@pytest.fixture
def shared(bucket: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(VARIABLE, f"{bucket}/cache")
    return f"{bucket}/cache"


def test_what_one_machine_computed_another_has(shared: str, own_cache: Path) -> None:
    put_features(KEY, features(1))
    shutil.rmtree(own_cache)  # another machine
    found = get_features(KEY)

    assert found is not None
    assert (found["pool"] == features(1)["pool"]).all()
    assert entry_path(KEY).is_file(), "from now on it is here"


def test_an_entry_that_nobody_has_is_absent(shared: str) -> None:
    assert get_features(KEY) is None


def test_a_damaged_entry_is_computed_again(shared: str, own_cache: Path, tmp_path: Path) -> None:
    put_features(KEY, features(1))
    data = bytearray(entry_path(KEY).read_bytes())
    data[-3] ^= 1
    (tmp_path / "flipped").write_bytes(data)
    transfer.send(tmp_path / "flipped", f"{shared}/features/ab/{KEY}.safetensors")
    shutil.rmtree(own_cache)
    assert get_features(KEY) is None

    put_features(KEY, features(1))
    shutil.rmtree(own_cache)
    assert get_features(KEY) is not None


def test_a_second_machine_computes_nothing_and_gets_the_same_store(
    shared: str, bucket: str, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(clips, f"{bucket}/clips")
    stores, computed = [], []
    for machine in ("one", "two"):
        monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / machine / "cache"))
        index, out = tmp_path / machine / "index", tmp_path / machine / "toy"
        known = decode.decode_videos(videos=f"{bucket}/clips", out=index, params=Decode(), console=QUIET)["known"]
        done = extract.extract_features(
            {"toy": toy()}, index=index, outs={"toy": out}, executor=InProcess(), device="cpu", console=QUIET
        )
        stores.append(content(out))
        computed.append((known, done["computed"]))

    assert computed == [(0, 3), (3, 0)]
    assert stores[0] == stores[1]


def test_a_worker_without_the_index_takes_the_shared_one(
    shared: str, clips: Path, tmp_path: Path, own_cache: Path
) -> None:
    index = tmp_path / "index"
    decode.decode_videos(videos=clips, out=index, params=Decode(), console=QUIET)
    outs = {"toy": tmp_path / "toy"}
    extract.extract_features({"toy": toy()}, index=index, outs=outs, executor=InProcess(), device="cpu", console=QUIET)
    sha256, rows = file_sha256(index / "checksums.json"), list(_index(index, "here").rows)
    shutil.rmtree(index)
    shutil.rmtree(own_cache)

    assert list(_index(index, sha256).rows) == rows


def test_a_cache_that_cannot_be_reached_ends_the_run(shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "s3://bucket-that-nobody-made/cache")

    with pytest.raises(InputError):
        put_features(KEY, features(1))


def test_without_the_variable_nothing_leaves_this_machine(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_translated", lambda _: pytest.fail("no URL was given"))
    put_features(KEY, features(1))

    assert get_features(KEY) is not None
