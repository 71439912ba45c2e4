"""What clients send: so many bytes in so much time, straight to disk. A client that stops is not waited for."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

SMALL = 64 << 10  # bytes of a JSON body
SILENCE_SECONDS = 20.0  # between two pieces


async def read_json(request: Request) -> Any:
    """A small JSON object."""
    pieces = [piece async for piece in limited(request, most=SMALL, seconds=SILENCE_SECONDS)]
    try:
        value = json.loads(b"".join(pieces))
    except (ValueError, RecursionError):  # nested too deeply
        raise HTTPException(400, "the request is no JSON") from None
    if not isinstance(value, dict):
        raise HTTPException(400, "the request is no JSON object")
    return value


async def save_body(request: Request, path: Path, *, most: int, seconds: float) -> int:
    """Its bytes into `path`; how many."""
    written = 0
    with path.open("xb") as file:
        async for piece in limited(request, most=most, seconds=seconds):
            await asyncio.to_thread(file.write, piece)
            written += len(piece)
    return written


async def limited(request: Request, *, most: int, seconds: float) -> AsyncIterator[bytes]:
    """What is too large by its own word is refused before a byte of it is read."""
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated) > most:
        raise HTTPException(413, _too_large(most))
    received, deadline, pieces = 0, time.monotonic() + seconds, request.stream()
    while piece := await _next(pieces, min(SILENCE_SECONDS, deadline - time.monotonic())):
        received += len(piece)
        if received > most:
            raise HTTPException(413, _too_large(most))
        yield piece


async def _next(pieces: AsyncIterator[bytes], seconds: float) -> bytes:
    """An empty one at the end."""
    try:
        return await asyncio.wait_for(anext(pieces), seconds)
    except TimeoutError:
        raise HTTPException(408, "the upload came too slowly and was given up: try again") from None


def _too_large(most: int) -> str:
    return f"more than {most / 1e6:.0f} MB: cut the clip, or make it smaller (ffmpeg -i CLIP -vf scale=640:-2 NEW.mp4)"
