"""What training, captioning, scoring and the report read of a data set: splits, captions and slices, by index id."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pipeline.core import InputError, write_json

FILE = "captions.json"


@dataclass(frozen=True)
class Corpus:
    splits: dict[str, list[str]]  # train, val, test -> video ids, in the data set's order
    captions: dict[str, list[str]]  # video id -> sentences as the data set has them
    slices: dict[str, str] = field(default_factory=dict)  # video id -> label of a group that is scored apart
    categories: dict[str, str] = field(default_factory=dict)  # video id -> class of the whole video

    def references(self, split: str) -> dict[str, list[str]]:
        return {video_id: self.captions[video_id] for video_id in self.splits[split]}

    def sentences(self, split: str) -> list[str]:
        """All captions of a split."""
        return [caption for captions in self.references(split).values() for caption in captions]


def write_corpus(folder: Path, corpus: Corpus) -> None:
    write_json(folder / FILE, vars(corpus))


def read_corpus(folder: Path) -> Corpus:
    """The `captions.json` that the assemble stage wrote into `folder`."""
    try:
        return TypeAdapter(Corpus).validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(f"{folder / FILE} cannot be read: {error}", hint="dvc repro assemble") from error
