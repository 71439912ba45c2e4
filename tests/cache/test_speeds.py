"""Speeds are facts of a machine: kept beside the cache, and never worth an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cache.speeds import frames_per_second, note_speed


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    return tmp_path


def test_frames_by_the_clock() -> None:
    note_speed("ab", videos=2, frames=300, seconds=4.0)

    assert frames_per_second("ab") == 75.0
    assert frames_per_second("cd") is None


def test_a_run_that_computed_nothing_leaves_the_old_speed() -> None:
    note_speed("ab", videos=2, frames=300, seconds=4.0)
    note_speed("ab", videos=0, frames=0, seconds=0.1)

    assert frames_per_second("ab") == 75.0


def test_a_damaged_note_is_no_note(cache: Path) -> None:
    note_speed("ab", videos=2, frames=300, seconds=4.0)
    (cache / "speeds/ab.json").write_text("{half")

    assert frames_per_second("ab") is None
