"""What training, captioning, scoring and the report read of a data set: splits, captions and slices, by index id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pipeline.core import DamageError, read_sealed_json, write_sealed_json
from pipeline.corpus.words import LATIN, Words, tokenize

FILE = "captions.json"
AGAIN = "dvc repro --force assemble"


@dataclass(frozen=True)
class Corpus:
    splits: dict[str, list[str]]  # train, val, test -> video ids, in the data set's order
    captions: dict[str, list[str]]  # video id -> sentences as the data set has them
    slices: dict[str, str] = field(default_factory=dict)  # video id -> label of a group that is scored apart
    categories: dict[str, str] = field(default_factory=dict)  # video id -> class of the whole video
    moved: dict[str, str] = field(default_factory=dict)  # video id -> the split that its annotations put it in
    words: Words = LATIN  # what a word of its captions is

    def references(self, split: str) -> dict[str, list[str]]:
        return {video_id: self.captions[video_id] for video_id in self.splits[split]}

    def cut(self, caption: str) -> list[str]:
        return tokenize(caption, self.words)

    def word_references(self, split: str) -> dict[str, list[str]]:
        """The same as words with a space between each two."""
        return {video: [" ".join(self.cut(text)) for text in texts] for video, texts in self.references(split).items()}

    def sentences(self, split: str) -> list[str]:
        """All captions of a split."""
        return [caption for captions in self.references(split).values() for caption in captions]


def references_sha256(references: Mapping[str, Sequence[str]]) -> str:
    """Of videos and what was said of them, in plain ASCII: a caption may hold half a character, which has no bytes."""
    text = json.dumps({video: list(texts) for video, texts in references.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write_corpus(folder: Path, corpus: Corpus) -> None:
    usual: tuple[tuple[str, object], ...] = (("moved", {}), ("words", LATIN))  # what is as ever is not written
    written = {name: value for name, value in vars(corpus).items() if (name, value) not in usual}
    write_sealed_json(folder / FILE, written)


def read_corpus(folder: Path) -> Corpus:
    """The `captions.json` that the assemble stage wrote into `folder`."""
    record = read_sealed_json(folder / FILE, hint=AGAIN)
    try:
        return TypeAdapter(Corpus).validate_python(record)
    except ValidationError as error:
        raise DamageError(f"{folder / FILE} cannot be read: {error}", hint=AGAIN) from error


def told_subset(*, share: float, seed: int, moved: int, videos: int) -> str:
    return (
        f"a subset: {moved} of {videos} videos are in another split than the annotations say"
        f" (share {share:g}, seed {seed}); its scores cannot be compared with those of the whole data set"
    )
