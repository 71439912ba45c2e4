"""The pages, in the order of the navigation: a new one is its import and its name here."""

from __future__ import annotations

from pipeline.live.caption_page import CAPTION
from pipeline.live.page_kind import Page

PAGES: tuple[Page, ...] = (CAPTION,)
