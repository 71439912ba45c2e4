"""Imported once by the process that workers are forked from: torch, this project, and the toy family."""

from __future__ import annotations

import pipeline.extraction.extract_video  # noqa: F401 - what takes seconds
from tests.store.making import add_toy_family

add_toy_family()
