"""Annotated ids against the files there are: what fits, and what is left over on either side."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from unicodedata import normalize

from pipeline.core import InputError, named
from pipeline.datasets.annotations import Annotations
from pipeline.datasets.subset import require_enough
from pipeline.params import Dataset


@dataclass(frozen=True)
class Match:
    files: dict[str, str]  # annotated id → id of its file (the stem)
    without_video: list[str]  # annotated and in a split, but no file
    without_captions: list[str]  # a file, but not annotated

    @property
    def complete(self) -> bool:
        return not (self.without_video or self.without_captions)

    @property
    def problem(self) -> str:
        parts = []
        if self.without_video:
            parts.append(f"captions without a video ({len(self.without_video)}): {named(self.without_video)}")
        if self.without_captions:
            parts.append(f"videos without captions ({len(self.without_captions)}): {named(self.without_captions)}")
        return "; ".join(parts)


def match_videos(annotations: Annotations, ids_of_files: Collection[str]) -> Match:
    """A file is named by the video's id, or by the other name that the data set gives the video.

    An accent may be written as a part of its letter or after it: macOS does the second in names of files.
    """
    present = set(ids_of_files)
    composed = {normalize("NFC", stem): stem for stem in ids_of_files}
    files = {}
    for id_ in annotations.captions:
        stem = id_ if id_ in present else annotations.files.get(id_, id_)
        if found := stem if stem in present else composed.get(normalize("NFC", stem)):
            files[id_] = found
    wanted = (id_ for ids in annotations.splits.values() for id_ in ids)
    return Match(
        files=files,
        without_video=[id_ for id_ in wanted if id_ not in files],
        without_captions=sorted(present - set(files.values())),
    )


def require_match(match: Match, annotations: Annotations, *, dataset: Dataset, where: str) -> None:
    """Nothing left over on either side, unless params allow it; then something to train with."""
    if dataset.whole and not match.complete:
        raise InputError(
            f"{where}: {match.problem}",
            hint="add or remove files, or leave them out with `framescribe dataset use ... --unmatched ignore`"
            " (dataset.unmatched in params.yaml), or with --subset, which also fills a split that has no video",
        )
    present = {split: sum(id_ in match.files for id_ in ids) for split, ids in annotations.splits.items()}
    if dataset.subset:
        require_enough(sum(present.values()), left_over=match.problem)
        return
    for split in ("train", "val"):
        if not present[split]:
            raise InputError(
                f"{where}: no {split} video has a file; {match.problem}",
                hint="use what is there: `framescribe dataset use ... --subset` fills that split from the others",
            )
