"""A small trained project that is served, and a browser that looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browsers import running_browser
from tests.live.serving import Served, descendants, gone_after, serving
from tests.live.trained import make_project


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
    with running_browser() as running:
        yield running
