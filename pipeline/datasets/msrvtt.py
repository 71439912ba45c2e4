"""MSR-VTT, and anything written in its JSON format: `videos` and `sentences`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from pipeline.core import InputError, duplicates, named
from pipeline.datasets.annotations import OWN_NAMES, UNUSED, Annotations, build_annotations
from pipeline.datasets.sources import first_file, read_records, required_file

TRAIN_VAL = ("train_val_videodatainfo.json", "train_val_videodatainfo.json.zip", "train_val_annotation.zip")
TEST = ("test_videodatainfo.json", "test_videodatainfo.json.zip", "test_annotation.zip")
ALL = ("videodatainfo_2017.json", "videodatainfo_2017.json.zip", "annotations.json")
MEMBERS = tuple(name for name in TRAIN_VAL + TEST + ALL if name.endswith(".json"))

TRAIN_END, VAL_END, TEST_END = 6513, 7010, 10_000  # half-open ranges of the 2016 split
DUALAFR_TRAIN_END = 5513  # the last 1,000 of the original training videos are the test videos


# Twenty sentences a video: with slots a sentence is a tenth of what a pydantic model of it would be.
@dataclass(frozen=True, slots=True)
class AnnotatedVideo:
    __pydantic_config__ = ConfigDict(strict=True)

    video_id: str
    split: str
    slice: str | None = None
    category: int | str | None = None


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    __pydantic_config__ = ConfigDict(strict=True)

    video_id: str
    caption: str
    sen_id: int | str | None = None


class VideoDataInfo(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    videos: list[AnnotatedVideo]
    sentences: list[AnnotatedSentence]


def load_msrvtt(path: Path, *, rule: str) -> Annotations:
    parts = [read_records(file, VideoDataInfo, members=MEMBERS) for file in _files(path)]
    videos = [video for part in parts for video in part.videos]
    sentences = [sentence for part in parts for sentence in part.sentences]
    _refuse_duplicate_sentences(sentences, source=path)
    return build_annotations(
        _split(videos, rule=rule, source=path),
        ((sentence.video_id, sentence.caption) for sentence in sentences),
        source=str(path),
        slices={video.video_id: video.slice for video in videos if video.slice is not None},
        categories={video.video_id: str(video.category) for video in videos if video.category is not None},
    )


def _files(path: Path) -> list[Path]:
    """The file given; or a folder's one complete file; or its train+val file and, where present, its test file."""
    if path.is_file():
        return [path]
    complete = first_file(path, ALL)
    if complete is not None and first_file(path, TRAIN_VAL) is None:
        return [complete]
    test = first_file(path, TEST)
    return [required_file(path, TRAIN_VAL + ALL, holds="MSR-VTT annotation"), *([test] if test else [])]


def _refuse_duplicate_sentences(sentences: list[AnnotatedSentence], *, source: Path) -> None:
    twice = duplicates(str(sentence.sen_id) for sentence in sentences if sentence.sen_id is not None)
    if twice:
        raise InputError(f"{source}: duplicate sentence ids ({len(twice)}): {named(twice)}")


def _split(videos: list[AnnotatedVideo], *, rule: str, source: Path) -> list[tuple[str, str]]:
    split_of = RULES[rule]
    chosen = [(video.video_id, split_of(video)) for video in videos]
    outside = [id_ for id_, split in chosen if split is None]
    if outside:
        raise InputError(
            f"{source}: videos that the split rule '{rule}' puts nowhere ({len(outside)}): {named(outside)}",
            hint="the rule takes " + ALLOWED[rule] + "; docs/datasets.md explains the rules",
        )
    return [(id_, split) for id_, split in chosen if split is not None]


def _own(video: AnnotatedVideo) -> str | None:
    return OWN_NAMES.get(video.split)


def _standard(video: AnnotatedVideo) -> str | None:
    """By number, because some releases of the file mark every video as `train`."""
    number = _number(video)
    if number >= TEST_END:
        return None
    return "train" if number < TRAIN_END else "val" if number < VAL_END else "test"


def _dualafr(video: AnnotatedVideo) -> str | None:
    if DUALAFR_TRAIN_END <= _number(video) < TRAIN_END:
        return "test"
    split = _standard(video)
    return UNUSED if split == "test" else split


def _number(video: AnnotatedVideo) -> int:
    match = re.fullmatch(r"video(\d{1,6})", video.video_id, flags=re.ASCII)
    return int(match[1]) if match else TEST_END  # a name of another kind is beyond every range


RULES: dict[str, Callable[[AnnotatedVideo], str | None]] = {"standard": _standard, "dualafr": _dualafr, "file": _own}
ALLOWED = {
    "standard": "ids video0 to video9999",
    "dualafr": "ids video0 to video9999",
    "file": "the values train, validate (or val) and test of each video's own 'split'",
}
