"""`cache gc` beside a running extraction: what the run uses stays, and a killed run claims nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.cache import cache_claims, feature_cache
from pipeline.cache.cache_claims import claimed, first_claim
from pipeline.cache.feature_cache import collect, entries, entry_path, get_features, put_features
from pipeline.cli import main
from pipeline.core.errors import DamageError
from pipeline.extraction import extract
from pipeline.store_tools.verify_store import verify
from tests.store.making import add_toy_family, content, extracted, features, index_of, write_clips


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    add_toy_family()
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put_long_ago(*keys: str) -> None:
    for key in keys:
        put_features(key, features(1))
        os.utime(entry_path(key), (1e9, 1e9))


def stems() -> set[str]:
    return {entry.path.stem for entry in entries()}


def test_what_a_running_stage_used_or_made_stays_and_the_rest_goes() -> None:
    put_long_ago("aa", "bb")
    with claimed():
        assert get_features("aa") is not None
        put_features("cc", features(2))

        removed, kept = collect(max_bytes=0)

        assert [entry.path.stem for entry in removed] == ["bb"]
        assert {entry.path.stem for entry in kept} == stems() == {"aa", "cc"}
        assert collect(keep_days=0)[0] == []
    assert len(collect(max_bytes=0)[0]) == 2
    assert stems() == set()


def test_an_entry_used_in_the_moment_of_the_claim_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks of file systems are coarse: the same time may be a moment later."""
    put_long_ago("aa")
    monkeypatch.setattr(feature_cache, "first_claim", lambda: 1e9)
    assert collect(max_bytes=0)[0] == []

    monkeypatch.setattr(feature_cache, "first_claim", lambda: 1e9 + 1)
    assert [entry.path.stem for entry in collect(max_bytes=0)[0]] == ["aa"]


def test_sizes_count_what_stays() -> None:
    """Half of the room is taken by a running stage, so two of the others go, and no more."""
    put_long_ago("aa", "bb", "cc")
    with claimed():
        put_features("dd", features(1))
        one = entries()[0].bytes

        assert [entry.path.stem for entry in collect(max_bytes=2 * one)[0]] == ["aa", "bb"]
        assert stems() == {"cc", "dd"}


def test_an_entry_that_is_used_between_the_listing_and_the_removal_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    put_long_ago("aa", "bb")

    def a_stage_begins() -> float:
        assert get_features("aa") is not None
        return float("inf")

    monkeypatch.setattr(feature_cache, "first_claim", a_stage_begins)
    removed, kept = collect(max_bytes=0)

    assert [entry.path.stem for entry in removed] == ["bb"]
    assert [entry.path.stem for entry in kept] == ["aa"]
    assert stems() == {"aa"}


def test_a_killed_stage_claims_nothing(own_cache: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    claim = own_cache / "claims" / f".claim.{socket.gethostname()}-{ended.pid}-7.tmp"
    claim.parent.mkdir(parents=True)
    claim.write_text("0.0")

    assert first_claim() == float("inf")
    assert not claim.exists()


def test_a_claim_of_another_machine_holds_while_it_is_touched(own_cache: Path) -> None:
    claim = own_cache / "claims/.claim.elsewhere-1-7.tmp"
    claim.parent.mkdir(parents=True)
    claim.write_text("12.5")

    assert first_claim() == 12.5
    os.utime(claim, (0, 0))
    assert first_claim() == float("inf")


def test_a_claim_is_touched_and_goes_with_its_stage(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_claims, "TOUCH_EVERY", 0.01)

    with claimed():
        (claim,) = (own_cache / "claims").iterdir()
        began = first_claim()
        os.utime(claim, (0, 0))
        while claim.stat().st_mtime == 0:
            time.sleep(0.01)
        assert first_claim() == began
    assert list((own_cache / "claims").iterdir()) == []


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    write_clips(folder, 4)
    return folder


def test_extraction_survives_a_gc_of_everything_again_and_again(
    videos: Path, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another process after every video and before every store: more often than every second."""
    index = index_of(videos, tmp_path / "index")
    extracted(index, tmp_path / "reference")
    put_long_ago("aa")
    put, publish = feature_cache.put_features, extract._publish
    collections = []

    def gc() -> None:
        command = [sys.executable, "-m", "pipeline", "cache", "gc", "--max-size", "0", "--quiet"]
        collections.append(subprocess.run(command, check=False).returncode)

    def put_and_gc(*args: Any, **kwargs: Any) -> None:
        put(*args, **kwargs)
        gc()

    def gc_and_publish(*args: Any, **kwargs: Any) -> Any:
        gc()
        return publish(*args, **kwargs)

    monkeypatch.setattr("pipeline.extraction.extract_video.put_features", put_and_gc)
    monkeypatch.setattr(extract, "_publish", gc_and_publish)
    for entry in entries():
        if entry.path.stem != "aa":
            entry.path.unlink()
    done = extracted(index, tmp_path / "store")

    assert collections == [0] * 5
    assert done["computed"] == 4  # none of them twice
    assert content(tmp_path / "store") == content(tmp_path / "reference")
    assert verify(tmp_path / "store") == []
    assert "aa" not in stems()
    assert main(["cache", "gc", "--max-size", "0", "--quiet"]) == 0
    assert entries() == []


def test_a_cache_that_is_emptied_by_force_is_named_as_a_cache(
    videos: Path, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_of(videos, tmp_path / "index")
    publish = extract._publish

    def publish_from_nothing(*args: Any, **kwargs: Any) -> Any:
        for entry in entries():
            entry.path.unlink()
        return publish(*args, **kwargs)

    monkeypatch.setattr(extract, "_publish", publish_from_nothing)
    with pytest.raises(DamageError, match="vanish from the cache") as told:
        extracted(index, tmp_path / "store")

    assert str(own_cache / "features") in told.value.message
    assert "store verify" not in str(told.value)
    assert "run the same command" in told.value.hint
    assert not (tmp_path / "store").exists()
