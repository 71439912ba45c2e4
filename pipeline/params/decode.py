"""The section `decode`: what a file may cost before it is given up."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.params.section import Section


class Decode(Section):
    backend: Literal["decord", "pyav", "torchcodec"] = "decord"  # PyAV judges the others
    max_failed: int = Field(default=0, ge=0)  # files that may be unusable before the stage fails
    timeout: float = Field(default=600.0, gt=0)  # seconds of decoding that a video may take
    stall: float = Field(default=20.0, gt=0)  # seconds that the decoder may go without any progress
    max_pixels: int = Field(default=4096 * 4096, gt=0)  # of one frame, checked before decoding
    max_memory_mb: int = Field(default=4096, gt=0)  # of the decoding child
