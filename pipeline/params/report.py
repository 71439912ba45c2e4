"""The section `report`: how much the page shows."""

from __future__ import annotations

from pydantic import Field

from pipeline.params.section import Section


class Report(Section):
    examples: int = Field(default=200, ge=0)  # captioned videos that are shown with pictures; the others without
