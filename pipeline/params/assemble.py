"""The section `assemble`: the vocabulary, and how long a training caption may be."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.params.section import Section


class Assemble(Section):
    min_count: int = Field(default=1, gt=0)  # rarer training words become <unk>
    words: Literal["latin", "unicode"] = "latin"  # unicode: of any alphabet; of Chinese each character is a word
    max_words: int = Field(default=20, gt=0)  # longer captions are cut in training, never in scoring
