"""A headless browser that waits as long as a busy machine takes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WAIT = 120_000  # milliseconds; where all is well none is waited for


@contextmanager
def running_browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH")
    playwright.expect.set_options(timeout=WAIT)  # its own is of 5 seconds
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=WAIT)
        yield browser
        browser.close()


def patient(made: Any) -> Any:
    """A page, or a context with its pages."""
    made.set_default_timeout(WAIT)
    return made
