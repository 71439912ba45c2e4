"""What every data set becomes: splits of video ids and their sentences, checked once for all loaders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.core import InputError, duplicates, named

SPLITS = ("train", "val", "test")
OWN_NAMES = {"train": "train", "validate": "val", "validation": "val", "val": "val", "test": "test"}  # in files
UNUSED = ""  # the split of videos that are annotated but that a split rule leaves out


@dataclass(frozen=True)
class Annotations:
    splits: dict[str, list[str]]  # train, val, test: video ids in the data set's own order
    captions: dict[str, list[str]]  # video id → sentences as the data set has them; also of videos in no split
    slices: dict[str, str] = field(default_factory=dict)  # video id → label of a group that is scored apart
    files: dict[str, str] = field(default_factory=dict)  # video id → stem of its file, where the two may differ
    categories: dict[str, str] = field(default_factory=dict)  # video id → class of the whole video

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Videos and captions of each split."""
        return {
            split: {"videos": len(ids), "captions": sum(len(self.captions[id_]) for id_ in ids)}
            for split, ids in self.splits.items()
        }


def build_annotations(
    videos: Sequence[tuple[str, str]],  # (id, split)
    sentences: Iterable[tuple[str, str]],  # (id, sentence)
    *,
    source: str,
    slices: dict[str, str] | None = None,
    files: dict[str, str] | None = None,
    categories: dict[str, str] | None = None,
) -> Annotations:
    """Group by split and by video; refuse ids that are duplicate, unknown or without a sentence."""
    _refuse(duplicates(id_ for id_, _ in videos), f"{source}: duplicate video ids")
    captions: dict[str, list[str]] = {id_: [] for id_, _ in videos}
    unknown: dict[str, None] = {}
    for id_, sentence in sentences:
        if id_ in captions:
            captions[id_].append(sentence)
        else:
            unknown[id_] = None
    _refuse(unknown, f"{source}: sentences of videos that are not listed")
    _refuse((id_ for id_, found in captions.items() if not found), f"{source}: videos without captions")
    blank = (id_ for id_, found in captions.items() if not all(sentence.strip() for sentence in found))
    _refuse(blank, f"{source}: videos with an empty caption")
    splits = {split: [id_ for id_, its_split in videos if its_split == split] for split in SPLITS}
    return Annotations(
        splits=splits, captions=captions, slices=slices or {}, files=files or {}, categories=categories or {}
    )


def _refuse(ids: Iterable[str], problem: str) -> None:
    found = list(ids)
    if found:
        raise InputError(f"{problem} ({len(found)}): {named(found)}", hint="correct the annotation file")
