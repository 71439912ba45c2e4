"""A file that changes between hashing and decoding, or while it is decoded, leaves nothing wrong behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.console import Console
from pipeline.core.executors import Executor, InProcess, LocalProcesses
from pipeline.core.reasons import DecodeError
from pipeline.decoding import Limits, decode, decode_cache, held, held_video
from pipeline.decoding.decode_cache import examined
from pipeline.index.video_index import read_index
from pipeline.params.decode import Decode
from pipeline.remote import spool
from tests.clips import write_clip
from tests.decoding.racing import RACES, Race, Racing, make_race

QUIET = Console(quiet=True)
WORKERS = {"one process": InProcess(), "workers": LocalProcesses(2)}
LATE_WORKERS = pytest.param("workers", True, marks=pytest.mark.slow)
MOMENTS = [("one process", False), ("one process", True), ("workers", False), LATE_WORKERS]  # late: decoding has begun


def index_of(videos: Path, out: Path, executor: Executor | None = None) -> dict[str, bytes]:
    params = Decode(max_failed=9)
    decode.decode_videos(videos=videos, out=out, params=params, executor=executor or InProcess(), console=QUIET)
    return {path.name: path.read_bytes() for path in out.iterdir()}


def truths(race: Race, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, bytes]]:
    """The index of each content, from a cache that has never seen a race."""
    found = []
    for number, content in enumerate((race.before, race.after)):
        with monkeypatch.context() as patch:
            patch.setenv("FRAMESCRIBE_CACHE", str(folder / f"clean{number}"))
            race.video.write_bytes(content)
            found.append(index_of(race.video.parent, folder / f"truth{number}"))
    return found


@pytest.mark.parametrize("how", RACES)
@pytest.mark.parametrize(("workers", "late"), MOMENTS)
def test_decode_keeps_only_the_truth(
    workers: str, how: str, late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "videos").mkdir()
    race = make_race(how, tmp_path / "videos/victim.ts", late=late)
    write_clip(tmp_path / "videos/other.mp4", frames=4)
    index_of(race.video.parent, tmp_path / "raced", Racing(WORKERS[workers], race))
    first = read_index(tmp_path / "raced")
    assert race.video.read_bytes() == race.after, "the race was run"
    assert {name: row.reason for name, row in first.quarantined.items()} == {"victim": "changed"}
    assert list(first.rows) == ["other"]

    now = []
    for content in (race.before, race.after):
        race.video.write_bytes(content)
        now.append(index_of(race.video.parent, tmp_path / "again"))
    assert now == truths(race, tmp_path, monkeypatch)


def test_a_change_that_a_coarse_clock_hides_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file was written a moment ago, and its status is the same after the change."""
    monkeypatch.setattr(held_video.HeldVideo, "_mark", lambda *_: ())
    race = make_race("overwritten", tmp_path / "victim.ts")
    with race.running(), pytest.raises(DecodeError, match=r"victim.ts' changed while it was read") as caught:
        examined(str(race.video), limits=Limits())
    assert caught.value.reason == "changed"
    assert "run the same command again" in caught.value.hint


def test_an_old_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, hashed = write_clip(tmp_path / "a.mp4", frames=4), []
    original = held_video.sha256_of

    def counted(*file: Any, **more: Any) -> str:
        hashed.append(file)
        return original(*file, **more)

    monkeypatch.setattr(held_video, "sha256_of", counted)
    monkeypatch.setattr(held_video, "RACY", -1.0)  # as if it had been written long ago
    examined(str(path), limits=Limits())
    assert len(hashed) == 1
    examined(str(path), limits=Limits())
    assert len(hashed) == 2, "what is known costs a hash"


def test_a_refusal_of_half_a_file_is_not_kept(tmp_path: Path) -> None:
    """An MP4 that is still being copied has no index yet, which is no fact about any content."""
    whole = write_clip(tmp_path / "whole.mp4").read_bytes()
    race = Race("growing", tmp_path / "a.mp4", whole[:1000], whole, late=False)
    race.prepare()
    with race.running(), pytest.raises(DecodeError) as caught:
        examined(str(race.video), limits=Limits())
    assert caught.value.reason == "changed"
    assert examined(str(race.video), limits=Limits())[1]["frames"] == 30


def test_a_copy_that_others_read_too_has_not_changed(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", frames=4)
    with held(f"file://{path}", limits=Limits()) as video:
        (copy,) = (spool.spool_folder() / "in-use").iterdir()
        os.link(copy, tmp_path / "link")
        os.utime(copy, ns=(1, copy.stat().st_mtime_ns))
        video.require_unchanged()
        with copy.open("r+b") as stream:
            stream.write(b"x")
        with pytest.raises(DecodeError, match=rf"'file://{path}' changed while it was read"):
            video.require_unchanged()


def test_a_copy_from_a_url_that_is_swapped_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (write_clip(tmp_path / f"{frames}.mp4", frames=frames) for frames in (4, 6))
    inspect = decode_cache.inspect_video

    def swapped(path: str, **rest: Any) -> dict[str, Any]:
        (copy,) = (spool.spool_folder() / "in-use").iterdir()
        (tmp_path / "new").write_bytes(two.read_bytes())
        (tmp_path / "new").replace(copy)
        return inspect(path, **rest)

    monkeypatch.setattr(decode_cache, "inspect_video", swapped)
    assert examined(f"file://{one}", limits=Limits())[1]["frames"] == 4


def test_hashing_has_a_time_limit(tmp_path: Path) -> None:
    with (tmp_path / "sparse.mp4").open("wb") as stream:
        stream.truncate(100 << 30)
    decode.decode_videos(
        videos=tmp_path, out=tmp_path / ".out", params=Decode(max_failed=1, timeout=0.3), console=QUIET
    )
    (row,) = read_index(tmp_path / ".out").quarantined.values()
    assert row.reason == "timeout"
    assert "could not be hashed in 0.3 s" in row.message
    assert "decode.timeout" in row.message
