"""The section `caption`: how captions are searched for."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.params.section import Section


class Caption(Section):
    beam: int = Field(default=5, gt=0)  # 1 is greedy
    max_words: int = Field(default=20, gt=0)
    length_power: float = Field(default=0.0, ge=0)  # beams are ranked by log p / length ** power
    split: Literal["train", "val", "test"] = "test"
