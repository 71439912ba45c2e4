"""What `cache gc` removes, by the clock and by the bytes that the disk really holds."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from pipeline.cache.feature_cache import collect, entries, entry_path, get_features, put_features
from tests.store.making import features

NOW = 1_700_000_000.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    monkeypatch.setattr(time, "time", lambda: NOW)
    return tmp_path


def put(key: str, *, used: float, rows: int = 3) -> Path:
    put_features(key, features(1, rows=rows))
    os.utime(entry_path(key), (used, used))
    return entry_path(key)


def names(found: list) -> list[str]:
    return [entry.path.stem for entry in found]


def test_days_are_of_24_hours_and_the_last_moment_still_counts() -> None:
    for key, hours in {"older": 48.1, "equal": 48.0, "newer": 47.9}.items():
        put(key, used=NOW - hours * 3600)

    removed, kept = collect(keep_days=2)

    assert (names(removed), names(kept)) == (["older"], ["equal", "newer"])
    assert get_features("older") is None
    assert names(entries()) == ["equal", "newer"]


def test_without_an_age_nothing_is_too_old() -> None:
    put("ancient", used=0.5)

    assert collect()[0] == []
    assert names(collect(keep_days=0.001)[0]) == ["ancient"]


def test_an_entry_weighs_what_it_takes_on_the_disk() -> None:
    path = put("one", used=NOW, rows=7)
    told = subprocess.run(["du", "--block-size=1", str(path)], capture_output=True, text=True, check=True).stdout

    assert entries()[0].bytes == int(told.split()[0])


@pytest.mark.parametrize(
    ("room", "left"), [(0, []), (1, []), (2, ["newest"]), (3, ["newest"]), (4, ["middle", "newest"])]
)
def test_the_longest_unused_go_until_the_rest_fits(room: int, left: list[str]) -> None:
    """Two units of room for each entry."""
    for age, key in enumerate(("newest", "middle", "oldest")):
        put(key, used=NOW - age)
    unit = entries()[0].bytes // 2

    removed, kept = collect(max_bytes=room * unit)

    assert names(kept) == names(entries()) == left
    assert names(removed) == ["oldest", "middle", "newest"][: 3 - len(left)]


def test_age_goes_first_and_size_counts_only_what_stays() -> None:
    for key, age in {"aa": 9, "bb": 8, "cc": 2, "dd": 1}.items():
        put(key, used=NOW - age * 86400)

    removed, kept = collect(keep_days=5, max_bytes=2 * entries()[0].bytes, pretend=True)

    assert (names(removed), names(kept)) == (["aa", "bb"], ["cc", "dd"])
    assert names(entries()) == ["aa", "bb", "cc", "dd"]  # pretended
