"""The pages, in the order of the navigation: a new one is its import and its name here."""

from __future__ import annotations

from pipeline.live.browse_page import BROWSE, SEARCH
from pipeline.live.caption_page import CAPTION
from pipeline.live.compare_page import COMPARE
from pipeline.live.page_kind import Page
from pipeline.live.watch_page import WATCH

PAGES: tuple[Page, ...] = (CAPTION, BROWSE, SEARCH, COMPARE, WATCH)
