"""Annotation files as text, JSON and checked records; every failure names the file and the place in it."""

from __future__ import annotations

import codecs
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from pipeline.core import UNREADABLE, InputError, named, printable, require_seal

MAX_MEMBER = 1 << 30  # bytes of one file inside a zip; the largest real one is 23 MB
Checked = TypeVar("Checked")


def read_text(path: Path) -> str:
    raw = _read(path)
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # "Unicode text" of spreadsheets
    try:
        return raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {'UTF-16' if wide else 'UTF-8'} text: byte {error.start} is 0x{raw[error.start]:02x}",
            hint="save it as UTF-8; in a spreadsheet: `CSV UTF-8`",
        ) from error


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and lines; empty lines and `#` comments are left out."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip("\r\n")


def read_records(path: Path, shape: type[Checked], *, members: Sequence[str] = ()) -> Checked:
    """The JSON in a file, or in the zip `path` under one of the names `members`, checked against `shape`."""
    raw, source = _read_member(path, members) if path.suffix == ".zip" else (_read(path), str(path))
    require_seal(raw, path, hint="make it again: framescribe demo-data")
    try:
        return TypeAdapter(shape).validate_json(raw.removeprefix(codecs.BOM_UTF8))
    except ValidationError as error:
        raise InputError(_explain(error, source), hint="docs/datasets.md shows the format") from error


def first_file(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def required_file(folder: Path, names: Sequence[str], *, holds: str) -> Path:
    found = first_file(folder, names)
    if found is None:
        raise InputError(
            f"{folder} has no {holds}; looked for {', '.join(names)}",
            hint="give the folder that holds it to --annotations; docs/datasets.md lists the names",
        )
    return found


def require_folder(path: Path, *, holds: str) -> None:
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; expected the folder that holds {holds}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _read_member(path: Path, members: Sequence[str]) -> tuple[bytes, str]:
    """Read in memory: nothing of the archive is ever written to disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            chosen = _choose_member(path, archive, members)
            return archive.read(chosen), f"{path}:{chosen.filename}"
    except UNREADABLE as error:
        raise InputError(f"{path} cannot be read as a zip archive: {error}") from error


def _choose_member(path: Path, archive: zipfile.ZipFile, members: Sequence[str]) -> zipfile.ZipInfo:
    found = [info for info in archive.infolist() if Path(info.filename).name in members]
    if len(found) != 1:
        has = named(archive.namelist()) or "nothing"
        raise InputError(f"{path} must hold exactly one of {', '.join(members)}; it holds {has}")
    if found[0].file_size > MAX_MEMBER:
        raise InputError(f"{path}:{found[0].filename} unpacks to {found[0].file_size} bytes; allowed: {MAX_MEMBER}")
    return found[0]


def _explain(error: ValidationError, source: str) -> str:
    first, *others = error.errors(include_url=False)
    if first["type"] == "json_invalid":
        return f"{source} is not valid JSON: {first['ctx']['error']}"
    where = printable(".".join(str(part) for part in first["loc"])) or "the top level"
    more = f" (and {len(others)} more problems)" if others else ""
    return f"{source} has the wrong structure: {where}: {first['msg']}{more}"
