"""MSVD (YouTube2Text): English sentences in the corpus CSV or in text files; the split goes by clip number."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.core import InputError, duplicates, named
from pipeline.datasets.annotations import SPLITS, UNUSED, Annotations, build_annotations
from pipeline.datasets.sources import first_file, read_lines, read_text, required_file

CORPUS = ("video_corpus.csv", "MSR Video Description Corpus.csv")
WHOLE_TEXT = "AllVideoDescriptions.txt"
SPLIT_TEXT = ("captions_{}.txt", "sents_{}_lc_nopunc.txt")  # families; {} is train, val, test
MAPPING = "youtube_mapping.txt"
COLUMNS = ("VideoID", "Start", "End", "Language", "Description")
TRAIN_END, VAL_END, TEST_END = 1200, 1300, 1970  # the last clip number of each split; numbers begin at 1


def load_msvd(path: Path) -> Annotations:
    files = _caption_files(path)
    mapping = _read_mapping(path / MAPPING, required=files[0].suffix == ".csv")  # clip → file stem
    clips = {stem: clip for clip, stem in mapping.items()}
    read = _read_corpus if files[0].suffix == ".csv" else _read_sentences
    sentences = [(clips.get(id_, id_), text) for file in files for id_, text in read(file)]
    ids = list(dict.fromkeys(id_ for id_, _ in sentences))
    # The CSV may describe clips beyond the 1,970 of the mapping: they are known, but in no split.
    splits = [(id_, _split(id_) or (UNUSED if read is _read_corpus else None)) for id_ in ids]
    return build_annotations(_all_split(splits, source=path), sentences, source=str(path), files=mapping)


def _caption_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    corpus = first_file(path, (*CORPUS, WHOLE_TEXT))
    if corpus is not None:
        return [corpus]
    for family in SPLIT_TEXT:
        parts = [path / family.format(split) for split in SPLITS if (path / family.format(split)).is_file()]
        if parts:
            return parts
    names = (*CORPUS, WHOLE_TEXT, *(family.format("train") for family in SPLIT_TEXT))
    return [required_file(path, names, holds="MSVD captions")]


def _read_mapping(path: Path, *, required: bool) -> dict[str, str]:
    """Lines of `<youtube id>_<start>_<end> vid<number>`.

    Looked for only in a folder that was given: a file beside a given file would be read without being a dependency.
    """
    if not path.is_file():
        if not required:
            return {}
        raise InputError(
            f"{path.parent}: {MAPPING} is missing: the CSV names clips by youtube id, the split goes by clip number",
            hint=f"put {MAPPING} (1970 lines like '-4wsuPCjDBc_5_15 vid1') beside the CSV and give their folder",
        )
    pairs = [_fields(line, path=path, number=number) for number, line in read_lines(path)]
    twice = duplicates(stem for stem, _ in pairs) + duplicates(clip for _, clip in pairs)
    if twice:
        raise InputError(f"{path}: ids that occur twice ({len(twice)}): {named(twice)}")
    return {clip: stem for stem, clip in pairs}


def _read_sentences(path: Path) -> Iterator[tuple[str, str]]:
    """Lines of an id, a space or tab, and a sentence."""
    for number, line in read_lines(path):
        yield _fields(line, path=path, number=number)


def _read_corpus(path: Path) -> Iterator[tuple[str, str]]:
    """English rows of the corpus CSV that have a description (some have none)."""
    rows = csv.DictReader(io.StringIO(read_text(path)))
    try:
        missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
        if missing:
            raise InputError(f"{path} has no column {', '.join(missing)}; it has: {', '.join(rows.fieldnames or ())}")
        for row in rows:
            if row["Language"] == "English" and (row["Description"] or "").strip():
                yield f"{row['VideoID']}_{row['Start']}_{row['End']}", row["Description"].strip()
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}") from error


def _fields(line: str, *, path: Path, number: int) -> tuple[str, str]:
    fields = line.split(None, 1)
    if len(fields) != 2:
        raise InputError(f"{path}, line {number}: expected two fields, found {line[:80]!r}")
    return fields[0], fields[1].strip()


def _split(clip: str) -> str | None:
    match = re.fullmatch(r"vid(\d{1,6})", clip, flags=re.ASCII)
    number = int(match[1]) if match else 0
    if not 1 <= number <= TEST_END:
        return None
    return "train" if number <= TRAIN_END else "val" if number <= VAL_END else "test"


def _all_split(splits: list[tuple[str, str | None]], *, source: Path) -> list[tuple[str, str]]:
    outside = [id_ for id_, split in splits if split is None]
    if outside:
        raise InputError(
            f"{source}: ids that are in no split ({len(outside)}): {named(outside)}",
            hint=f"clips are vid1 to vid{TEST_END}; youtube ids need a folder that also holds {MAPPING}",
        )
    return [(id_, split) for id_, split in splits if split is not None]
