"""The section `dataset`: where videos and annotations lie."""

from __future__ import annotations

from typing import Literal

from pipeline.params.section import Section


class Dataset(Section):
    name: Literal["demo", "msrvtt", "msvd", "vatex", "mvad"]
    videos: str  # folder of raw videos; may lie outside the repository
    annotations: str  # the data set's own annotation file or folder
    split: str = "standard"
    unmatched: Literal["error", "ignore"] = "error"  # captions without a video, and videos without captions
