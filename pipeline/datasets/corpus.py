"""What training and scoring read: splits, captions and slices under the ids of the video index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pipeline.errors import InputError
from pipeline.publish import write_json

FILE = "captions.json"


@dataclass(frozen=True)
class Corpus:
    splits: dict[str, list[str]]  # train, val, test → video ids, in the data set's order
    captions: dict[str, list[str]]  # video id → sentences as the data set has them
    slices: dict[str, str]  # video id → label of a group that is scored apart

    def of(self, split: str) -> list[str]:
        """All captions of a split."""
        return [caption for id_ in self.splits[split] for caption in self.captions[id_]]


def write_corpus(folder: Path, corpus: Corpus) -> None:
    write_json(folder / FILE, vars(corpus))


def read_corpus(folder: Path) -> Corpus:
    """The `captions.json` that the assemble stage wrote into `folder`."""
    try:
        return TypeAdapter(Corpus).validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError) as error:
        hint = "make it with `framescribe assemble`"
        raise InputError(f"{folder / FILE} cannot be read: {error}", hint=hint) from error
