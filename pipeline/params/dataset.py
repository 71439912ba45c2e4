"""The section `dataset`: where videos and annotations lie, and what is used of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.params.section import Section


class Subset(Section):
    """Of a data set that is only partly here: splits without a video take a share of all there is."""

    share: float = Field(default=0.2, gt=0, lt=0.5)  # of all videos, for validation and for testing each
    seed: int = Field(default=0, ge=0)  # decides which


class Dataset(Section):
    name: Literal["demo", "msrvtt", "msvd", "vatex", "mvad", "folder"]
    videos: str  # folder of raw videos; may lie outside the repository
    annotations: str  # the data set's own annotation file or folder
    split: str = "standard"
    unmatched: Literal["error", "ignore"] = "error"  # captions without a video, and videos without captions
    subset: Subset | None = None  # none: the splits are the data set's own, and none may be without a video

    @property
    def whole(self) -> bool:
        """Every caption has its video and every video its captions."""
        return self.unmatched == "error" and self.subset is None
