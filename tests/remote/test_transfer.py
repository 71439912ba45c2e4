"""Objects come and go whole; what goes wrong is said plainly, and never with a secret in it."""

from __future__ import annotations

import errno
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.core.errors import DiskFullError, InputError, MissingToolError, UsageError
from pipeline.remote import transfer
from tests.remote.conftest import SECRET


@pytest.mark.parametrize("protocol", ["s3", "memory", "file"])
def test_what_is_sent_is_what_comes_back(protocol: str, bucket: str, tmp_path: Path) -> None:
    place = {"s3": f"{bucket}/a", "memory": f"memory://{bucket[5:]}", "file": f"file://{tmp_path}/far"}[protocol]
    (tmp_path / "sent").write_bytes(bytes(range(256)) * 40)
    transfer.send(tmp_path / "sent", f"{place}/deep/one.bin")
    transfer.fetch(f"{place}/deep/one.bin", tmp_path / "back")

    assert (tmp_path / "back").read_bytes() == (tmp_path / "sent").read_bytes()
    assert {url: facts.size for url, facts in transfer.below(place).items()} == {f"{place}/deep/one.bin": 10240}
    transfer.remove(f"{place}/deep/one.bin")
    with pytest.raises(transfer.AbsentError, match="nothing at"):
        transfer.below(place)


def test_a_full_disk_is_not_blamed_on_the_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose disk is full hands its work to others; any other error would end the run."""
    from fsspec.implementations.memory import MemoryFileSystem

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(MemoryFileSystem, "get_file", no_room)
    with pytest.raises(DiskFullError, match=f"no room to write {tmp_path}/back"):
        transfer.fetch("memory://far/one", tmp_path / "back")
    assert list(tmp_path.iterdir()) == []


def test_a_mark_of_the_content_changes_with_it(bucket: str, tmp_path: Path) -> None:
    marks = []
    for text in ("one", "two", "one"):
        (tmp_path / "file").write_text(text)
        transfer.send(tmp_path / "file", f"{bucket}/file")
        marks.append(next(iter(transfer.below(bucket).values())).version)

    assert marks[0] == marks[2] != marks[1]
    assert all(marks)


@pytest.mark.parametrize("url", ["s3://no-such-bucket-anywhere/x", "s3://no-such-bucket-anywhere"])
def test_a_bucket_that_is_not_there(bucket: str, url: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(transfer.AbsentError, match="nothing at s3://no-such-bucket-anywhere"):
        transfer.below(url)
    with pytest.raises(transfer.AbsentError):
        transfer.send(tmp_path / "file", f"{url}/file")


def test_without_credentials(bucket: str, new_clients: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    (tmp_path / "file").write_text("x")

    with pytest.raises(InputError) as raised:
        transfer.send(tmp_path / "file", f"{bucket}/file")
    assert "AWS_ACCESS_KEY_ID" in raised.value.hint


def test_a_store_that_cannot_be_reached(bucket: str, new_clients: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    with pytest.raises(InputError, match=r"cannot be used: .*127\.0\.0\.1:9") as raised:
        transfer.facts_of(f"{bucket}/x")
    assert SECRET not in str(raised.value)


def test_a_secret_in_a_foreign_message_is_not_repeated(bucket: str) -> None:
    error = OSError(f"signature of {SECRET} at http://host/x?X-Amz-Signature=abc is wrong\nmore")

    assert transfer._safe(error) == "signature of *** at http://host/x?*** is wrong"


@pytest.mark.parametrize("url", ["s3://key:secret@bucket/x", "s3://bucket/x?token=secret"])
def test_an_address_with_a_password_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="must not carry credentials") as raised:
        transfer.require_url(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["ftp://host/x", "http://host/x", "just/a/path"])
def test_other_places_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="s3://"):
        transfer.require_url(url)


@pytest.mark.skipif(find_spec("gcsfs") is not None, reason="gcsfs is installed, so nothing is missing")
def test_a_missing_package_is_named() -> None:
    with pytest.raises(MissingToolError, match="gs:// needs a package") as raised:
        transfer.facts_of("gs://bucket/x")

    assert raised.value.hint == "pip install gcsfs"
