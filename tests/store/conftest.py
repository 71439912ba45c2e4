"""A cache of its own for every test, and clips that are made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.making import add_toy_family, write_clips


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    add_toy_family()
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight clips; copy the folder before changing it."""
    folder = tmp_path_factory.mktemp("clips")
    write_clips(folder, 8)
    return folder
