"""Tests run two at a time on two cores: more threads in each would only stand in each other's way."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("framescribe", deadline=None)  # no test asserts a time
settings.load_profile("framescribe")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first: a file runs on one worker, and the others fill the second one meanwhile."""
    items.sort(key=lambda item: "test_graph" not in item.nodeid)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with this project's params.yaml, for commands that rewrite it."""
    shutil.copy(Path(__file__).parents[1] / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
