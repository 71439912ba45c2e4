"""JSON files that people give us: a value, or an error that names the file and the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.ids import duplicates, named
from pipeline.core.sealed_file import require_seal


def read_json(path: Path, *, hint: str = "") -> Any:
    """A JSON value, in which no object may have a key twice: one of the two would be lost silently."""
    return _parse(read_text(path, hint=hint), path, hint=hint)


def read_text(path: Path, *, hint: str = "") -> str:
    """Where it is a file of ours that someone hands back, its checksum must fit."""
    try:
        data = path.read_bytes()
        require_seal(data, path, hint=hint or "make it again: framescribe caption, evaluate or assemble")
        return data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", hint=hint) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text, so it is not JSON: {error}", hint=hint) from error


def read_json_lines(path: Path) -> list[Any]:
    lines = enumerate(read_text(path).split("\n"), start=1)
    return [_parse(line, f"{path}, line {number}") for number, line in lines if line.strip()]


def _parse(text: str, where: Path | str, *, hint: str = "") -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if twice := duplicates(key for key, _ in pairs):
            raise InputError(f"{where} says {named(twice)} more than once in one object; which one counts?")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}", hint=hint) from error
    except RecursionError as error:
        raise InputError(f"{where}: its brackets are nested too deeply to be read", hint=hint) from error
