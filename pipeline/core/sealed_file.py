"""Files that we write and read again carry the sha256 of all their bytes, which is checked before anything is used.

JSON begins with it; safetensors have it first in their metadata. Both stay plain files of their kind for other tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.core.atomic import publishing, write_bytes
from pipeline.core.errors import DamageError, InputError
from pipeline.core.hashing import SEAL, seal_is_whole, sealed, write_sealed

JSON_START = b'{\n "checksum": ["'  # in a list, which `dvc metrics show` leaves out of its table
TENSORS_START = b'{"__metadata__":{"checksum":"'
LENGTH = 8  # bytes before the header of safetensors
CHUNKS = 4096  # pieces of JSON, of a few characters each, that are written together
UNSEALED = {"checksum": SEAL.decode()}  # metadata that a safetensors file is saved with, to be sealed


def write_sealed_json(path: Path, value: Mapping[str, Any], *, indent: int | None = 1, lasting: bool = True) -> None:
    """As `write_json`, sorted, behind the checksum; one of an earlier value is replaced."""
    content = {key: each for key, each in value.items() if key != "checksum"}
    with publishing(path, lasting=lasting) as temporary, temporary.open("wb") as stream:
        write_sealed(stream, _sealed_pieces(content, indent=indent), at=len(JSON_START))


def _sealed_pieces(content: Mapping[str, Any], *, indent: int | None) -> Iterator[bytes]:
    """Where there are lines, not all of the text at once: that of a million videos would be gigabytes."""
    yield JSON_START + SEAL + b'"]' + (b"," if content else b"") + b"\n"
    encoder = json.JSONEncoder(indent=indent, sort_keys=True, ensure_ascii=False)
    chunks = iter([encoder.encode(content)] if indent is None else encoder.iterencode(content))
    text = "".join(islice(chunks, CHUNKS)).removeprefix("{").lstrip("\n")
    while text:
        # a name that is not UTF-8 has lone surrogates, which JSON carries as the escapes that `backslashreplace` writes
        yield text.encode(errors="backslashreplace")
        text = "".join(islice(chunks, CHUNKS))
    yield b"\n"


def read_sealed_json(path: Path, *, hint: str) -> dict[str, Any]:
    """The value without its checksum; `hint` is the command that makes the file again."""
    data = _bytes(path, hint=hint)
    _require_whole(data, path, start=JSON_START, at=len(JSON_START), hint=hint)
    text = data.decode(errors="surrogatepass")
    del data  # of a large file neither bytes nor text shall be there twice
    value: dict[str, Any] = json.loads(text)
    del value["checksum"]
    return value


def require_seal(data: bytes, path: Path, *, hint: str) -> None:
    """Of a file that someone hands us: where it begins with a checksum of ours, that must fit."""
    if data.startswith(JSON_START):
        _require_whole(data, path, start=JSON_START, at=len(JSON_START), hint=hint)


def write_sealed_tensors(path: Path, data: bytes) -> None:
    """A safetensors file; `data` was saved with the metadata UNSEALED."""
    write_bytes(path, sealed(data, at=LENGTH + len(TENSORS_START)))


def read_sealed_tensors(path: Path, *, hint: str) -> bytes:
    data = _bytes(path, hint=hint)
    _require_whole(data, path, start=TENSORS_START, at=LENGTH + len(TENSORS_START), hint=hint)
    return data


def _bytes(path: Path, *, hint: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", hint=hint) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=hint) from error


def _require_whole(data: bytes, path: Path, *, start: bytes, at: int, hint: str) -> None:
    if not data[:at].endswith(start):
        told = f"{path} has no checksum: it is damaged, of an older version, or not written by framescribe"
        raise DamageError(told, hint=hint)
    if not seal_is_whole(data, at=at):
        raise DamageError(f"{path} is damaged: its checksum does not fit", hint=hint)
