"""Annotated ids against the files there are: what fits, and what is left over on either side."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pipeline.core import InputError, named
from pipeline.datasets.annotations import Annotations


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
    """A file is named by the video's id, or by the other name that the data set gives the video."""
    present = set(ids_of_files)
    files = {}
    for id_ in annotations.captions:
        stem = id_ if id_ in present else annotations.files.get(id_, id_)
        if stem in present:
            files[id_] = stem
    wanted = (id_ for ids in annotations.splits.values() for id_ in ids)
    return Match(
        files=files,
        without_video=[id_ for id_ in wanted if id_ not in files],
        without_captions=sorted(present - set(files.values())),
    )


def require_match(match: Match, annotations: Annotations, *, unmatched: str, where: str) -> None:
    """Nothing left over on either side, unless `dataset.unmatched` is `ignore`; then something to train with."""
    if unmatched == "error" and not match.complete:
        raise InputError(
            f"{where}: {match.problem}",
            hint="add or remove files, or leave them out with `framescribe dataset use ... --unmatched ignore`"
            " (dataset.unmatched in params.yaml)",
        )
    for split in ("train", "val"):
        if not any(id_ in match.files for id_ in annotations.splits[split]):
            raise InputError(f"{where}: no {split} video has a file; {match.problem}")
