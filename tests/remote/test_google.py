"""gs:// against an emulator on loopback, where gcsfs and gcp-storage-emulator are installed; the lock has neither."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.remote import transfer
from tests.cluster.sockets import free_port


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("gcsfs")
    emulator = pytest.importorskip("gcp_storage_emulator.server")
    port = free_port()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    server = emulator.create_server("127.0.0.1", port, in_memory=True, default_bucket="bucket")
    server.start()
    yield "gs://bucket/videos"
    server.stop()


def test_objects_of_google(google: str, tmp_path: Path) -> None:
    marks = []
    for content in (b"one", b"two", b"one"):
        (tmp_path / "sent").write_bytes(content)
        transfer.send(tmp_path / "sent", f"{google}/clip.mp4")
        marks.append(transfer.below(google)[f"{google}/clip.mp4"].version)
        assert transfer.facts_of(f"{google}/clip.mp4", refresh=True) == transfer.Facts(3, marks[-1])
        transfer.fetch(f"{google}/clip.mp4", tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == content

    assert marks[0] == marks[2] != marks[1]
    transfer.remove(f"{google}/clip.mp4")
    with pytest.raises(transfer.AbsentError, match="nothing at gs://bucket"):
        transfer.fetch(f"{google}/clip.mp4", tmp_path / "back")
