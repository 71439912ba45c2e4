"""Clips are made once a session; every test has a cache of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.core.hashing import file_sha256
from pipeline.decoding import Limits, inspect_video
from pipeline.decoding.findings import row_from
from pipeline.index.video_index import VideoRow
from tests.decoding.catalogue import CASES

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The path of a clip of the catalogue."""
    folder = tmp_path_factory.mktemp("clips")

    def made(name: str) -> Path:
        path = folder / name
        if not path.exists():
            CASES[name].make(path)
        return path

    return made


@pytest.fixture(scope="session")
def row_of() -> Callable[[Path], VideoRow]:
    """The row that a file has in an index."""
    known: dict[Path, VideoRow] = {}

    def row(path: Path) -> VideoRow:
        if path not in known:
            facts = inspect_video(str(path), limits=Limits())
            known[path] = row_from(facts, video_id=path.stem, path=str(path), sha256=file_sha256(path))
        return known[path]

    return row


@pytest.fixture
def corpus() -> Path:
    """The corpus of bad and odd files, where it is at hand."""
    folder = SHARED / "corpus"
    if not folder.is_dir():
        pytest.skip("the corpus is not beside the project; the catalogue has its own equivalents")
    return folder
