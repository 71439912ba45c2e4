"""A small trained project that is served, and a browser that looks at it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.serving import Served, descendants, gone_after, serving
from tests.live.trained import make_project

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    make_project(folder)
    return folder


@pytest.fixture(scope="module")
def captioning(trained: Path) -> Iterator[Served]:
    """The server of that project, entered."""
    with serving(trained, "--profile", "one.yaml", FRAMESCRIBE_CACHE="cache") as each:
        each.enter()
        yield each
        started = descendants(each.process.pid)
    assert each.process.returncode == 0
    assert not (trained / "cache/live").exists()
    assert not gone_after(60, started)


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
