"""What clients send: bounded in bytes and in time, wherever it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from pipeline.live import bodies


def request_of(pieces: Iterator[bytes], *, pause: float = 0.0, headers: dict[str, str] | None = None) -> Request:
    """Each piece after a pause; at their end the client is gone."""

    async def receive() -> Any:
        await asyncio.sleep(pause)
        piece = next(pieces, None)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": piece != b"end"}

    raw = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    return Request({"type": "http", "method": "PUT", "headers": raw}, receive)


def saved(request: Request, path: Path, *, most: int = 100, seconds: float = 60.0) -> int:
    return asyncio.run(bodies.save_body(request, path, most=most, seconds=seconds))


def endless(piece: bytes = b"x" * 30) -> Iterator[bytes]:
    while True:
        yield piece


def test_what_comes_is_written(tmp_path: Path) -> None:
    assert saved(request_of(iter([b"some", b"", b"end"])), tmp_path / "clip") == 7
    assert (tmp_path / "clip").read_bytes() == b"someend"


def test_an_endless_body_is_cut(tmp_path: Path) -> None:
    with pytest.raises(HTTPException) as refused:
        saved(request_of(endless()), tmp_path / "clip")

    assert refused.value.status_code == 413
    assert (tmp_path / "clip").stat().st_size <= 100


def test_a_body_that_is_too_large_by_its_word_is_not_read(tmp_path: Path) -> None:
    pieces = iter([b"some"])
    with pytest.raises(HTTPException) as refused:
        saved(request_of(pieces, headers={"content-length": "101"}), tmp_path / "clip")

    assert refused.value.status_code == 413
    assert next(pieces) == b"some"


@pytest.mark.parametrize(("silence", "seconds"), [(0.05, 60.0), (60.0, 0.05)])
def test_a_slow_body_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silence: float, seconds: float
) -> None:
    """By the silence between two pieces, and by the time of all of them."""
    monkeypatch.setattr(bodies, "SILENCE_SECONDS", silence)
    pause = 10.0 if silence < seconds else 0.001
    with pytest.raises(HTTPException) as refused:
        saved(request_of(endless(b""), pause=pause), tmp_path / "clip", seconds=seconds)

    assert refused.value.status_code == 408


def test_a_client_that_leaves_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(ClientDisconnect):
        saved(request_of(iter([b"some"])), tmp_path / "clip")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"x" * 70_000])
def test_json_is_a_small_object(text: bytes) -> None:
    async def asked() -> Any:
        pieces = iter([text + b" ", b"end" if not text else b""])
        return await bodies.read_json(request_of(pieces))

    with pytest.raises((HTTPException, ClientDisconnect)):
        asyncio.run(asked())
