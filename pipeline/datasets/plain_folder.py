"""A plain folder of videos with a table of captions: CSV with the columns video, caption and split, or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from unicodedata import normalize

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from pipeline.core import InputError, named, printable, write_text
from pipeline.datasets.annotations import OWN_NAMES, Annotations, build_annotations
from pipeline.datasets.sources import read_records, read_text

TABLE = "captions.csv"
COLUMNS = ("video", "caption", "split")  # the last may be left out
# Endings of a name in the column `video` that are no part of the id; of a file any ending is cut.
SUFFIXES = {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".wmv", ".flv", ".mpg", ".mpeg", ".ts", ".3gp", ".ogv"}
FILL_IN = "write sentences into the column 'caption', a line for each"
Sentences = Annotated[list[str], BeforeValidator(lambda said: [said] if isinstance(said, str) else said)]


@dataclass(frozen=True)
class PlainCaption:
    video: str  # name of the file, with or without suffix and folder
    caption: str
    split: str = ""  # train where it is not said


class PlainVideo(BaseModel):
    """An object of a JSON list."""

    model_config = ConfigDict(strict=True, frozen=True)

    video: str
    captions: Sentences = Field(validation_alias=AliasChoices("caption", "captions"))
    split: str = ""


def load_plain_folder(path: Path) -> Annotations:
    rows = list(_read(path))
    captioned = [row for row in rows if row.caption.strip()]
    if not captioned:
        raise InputError(
            f"{path}: none of its {len(rows)} lines has a caption",
            hint=f"{FILL_IN}; features need none: dvc repro extract",
        )
    splits: dict[str, dict[str, None]] = {}
    for row in captioned:
        splits.setdefault(_id(row), {})[_split(row, path)] = None
    torn = [id_ for id_, found in splits.items() if len(found) > 1]
    if torn:
        raise InputError(
            f"{path}: videos that are in several splits ({len(torn)}): {named(torn)}",
            hint="every line of a video has the same split; an empty one says train",
        )
    videos = [(id_, next(iter(found))) for id_, found in splits.items()]
    return build_annotations(videos, ((_id(row), row.caption) for row in captioned), source=str(path))


def write_empty_table(path: Path, ids: Iterable[str]) -> None:
    """A line for every video, to be filled in."""
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows([id_, "", ""] for id_ in ids)
    write_text(path, stream.getvalue())


def has_captions(path: Path) -> bool:
    return any(row.caption.strip() for row in _read(path))


def _read(path: Path) -> Iterator[PlainCaption]:
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a CSV or JSON file of captions")
    if path.suffix.lower() == ".json":
        yield from _read_json(path)
        return
    text = read_text(path)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        rows.fieldnames = [name.strip().lower() for name in rows.fieldnames or ()]
        missing = [column for column in COLUMNS[:2] if column not in rows.fieldnames]
        if missing:
            found = ", ".join(rows.fieldnames) or "nothing"
            raise InputError(
                f"{path} has no column {', '.join(missing)}; its first line has: {found}",
                hint="the first line is: video,caption or video,caption,split",
            )
        for row in rows:
            if row["video"]:
                _refuse_more_cells(row, f"{path}, line {rows.line_num}", rows.reader.dialect.delimiter)
                yield PlainCaption(**{column: row.get(column) or "" for column in COLUMNS})
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.reader.line_num}: {error}") from error


def _read_json(path: Path) -> Iterator[PlainCaption]:
    """A list of objects, or one object of names and their sentences."""
    if read_text(path).lstrip().startswith("{"):
        videos = [
            PlainVideo(video=name, captions=said) for name, said in read_records(path, dict[str, Sentences]).items()
        ]
    else:
        videos = read_records(path, list[PlainVideo])
    for each in videos:
        for sentence in each.captions:
            yield PlainCaption(video=each.video, caption=sentence, split=each.split)


def _delimiter(text: str) -> str:
    """Spreadsheets of half the world write semicolons, and tabs as `Unicode text`."""
    return max(",;\t", key=text.partition("\n")[0].count)


def _refuse_more_cells(row: Mapping[str | None, Any], where: str, delimiter: str) -> None:
    more = row.get(None, ())
    if any(map(str.strip, more)):
        raise InputError(
            f"{where}: more cells than columns: {printable(delimiter.join(more))}",
            hint=f"a caption with a {delimiter!r} stands between quotation marks",
        )


def _id(row: PlainCaption) -> str:
    name = PurePosixPath(normalize("NFC", row.video.strip().replace("\\", "/")))
    return name.stem if name.suffix.lower() in SUFFIXES else name.name


def _split(row: PlainCaption, path: Path) -> str:
    stated = row.split.strip().lower() or "train"
    if stated not in OWN_NAMES:
        raise InputError(f"{path}: '{row.video}' has the split '{stated}'; allowed: {', '.join(OWN_NAMES)}, or nothing")
    return OWN_NAMES[stated]
