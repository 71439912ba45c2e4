"""A small project that is served, and a browser that looks at it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.serving import Served, serving

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server in an empty folder, entered."""
    with serving(tmp_path) as each:
        each.enter()
        yield each


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()
