"""`framescribe decode`: an index with the same bytes however it was made, and no video decoded twice."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.cache_dirs import cache_folder
from pipeline.core.console import Console
from pipeline.core.errors import InputError, TooManyFailedError
from pipeline.decoding import decode, decode_cache, guard
from pipeline.index.video_index import read_index
from pipeline.params.decode import Decode
from tests.clips import write_clip
from tests.decoding.catalogue import CASES

Clip = Callable[[str], Path]
QUIET = Console(quiet=True)
SOME = ("good.mp4", "vfr.mp4", "rotated_90.mp4", "alpha.mov", "flipped.mp4", "empty.mp4", "page.mp4")


@pytest.fixture
def videos(tmp_path: Path, clip: Clip) -> Path:
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in SOME:
        shutil.copy(clip(name), folder / name)
    return folder


def run(videos: Path, out: Path, **details: int) -> dict[str, object]:
    return decode.decode_videos(videos=videos, out=out, params=Decode(max_failed=9), console=QUIET, **details)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def forget(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(folder))


def test_the_bytes_do_not_depend_on_workers_or_on_what_is_known(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(videos, tmp_path / "one", workers=1)
    run(videos, tmp_path / "known", workers=1)
    forget(monkeypatch, tmp_path / "other cache")
    run(videos, tmp_path / "three", workers=3)
    assert files(tmp_path / "one") == files(tmp_path / "three") == files(tmp_path / "known")


def test_a_renamed_or_touched_file_is_not_decoded_again(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(videos, tmp_path / "out")["known"] == 0
    (videos / "good.mp4").rename(videos / "renamed.mp4")
    os.utime(videos / "vfr.mp4", (1, 1))

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a known video was decoded again")

    monkeypatch.setattr(decode_cache, "inspect_video", fail)
    assert run(videos, tmp_path / "out")["known"] == 5
    rows = read_index(tmp_path / "out").rows
    assert "renamed" in rows
    assert "good" not in rows


def test_a_new_video_costs_one_video(videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(videos, tmp_path / "out")
    examined: list[str] = []
    original = decode_cache.inspect_video
    monkeypatch.setattr(
        decode_cache, "inspect_video", lambda path, **rest: examined.append(path) or original(path, **rest)
    )
    write_clip(videos / "new.mp4", frames=7)
    run(videos, tmp_path / "out")
    assert examined == [str(videos / "new.mp4")]


def test_copies_of_a_video_are_decoded_once(tmp_path: Path, clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when several workers meet the same content at the same moment, good or bad."""
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(12):
        shutil.copy(clip("good.mp4"), folder / f"good_{number:02}.mp4")
        shutil.copy(clip("page.mp4"), folder / f"page_{number:02}.mp4")
    examined: list[str] = []
    original = decode_cache.inspect_video
    monkeypatch.setattr(
        decode_cache, "inspect_video", lambda path, **rest: examined.append(path) or original(path, **rest)
    )
    decode.decode_videos(videos=folder, out=tmp_path / "out", params=Decode(max_failed=12), workers=4, console=QUIET)
    index = read_index(tmp_path / "out")
    assert (len(index.rows), len(index.quarantined), len(examined)) == (12, 12, 2)
    assert all(row.path in row.message for row in index.quarantined.values())


def test_a_stopped_run_goes_on(videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was finished before Ctrl-C is not done again, and the index is that of a run in one go."""
    original = decode_cache.inspect_video
    done: list[str] = []

    def interrupted(path: str, **rest: object) -> object:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(path)
        return original(path, **rest)

    monkeypatch.setattr(decode_cache, "inspect_video", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(videos, tmp_path / "out")
    assert not (tmp_path / "out" / "index.jsonl").exists()
    first = list(done)
    monkeypatch.setattr(decode_cache, "inspect_video", lambda path, **rest: done.append(path) or original(path, **rest))
    run(videos, tmp_path / "out")
    assert len(done) == len(set(done))
    assert done[:3] == first
    forget(monkeypatch, tmp_path / "other cache")
    run(videos, tmp_path / "whole")
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def one_digit(data: bytes) -> bytes:
    """JSON still, of another number: the last digit is flipped to its neighbour, and nothing else."""
    place = max(place for place, byte in enumerate(data) if chr(byte).isdigit())
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize("damage", [lambda data: data[:20], one_digit], ids=["cut", "one digit"])
def test_a_damaged_cache_entry_is_made_again(videos: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    run(videos, tmp_path / "out")
    before = files(tmp_path / "out")
    for entry in cache_folder("decode").rglob("*.json"):
        entry.write_bytes(damage(entry.read_bytes()))
    assert run(videos, tmp_path / "out")["known"] == 0
    assert files(tmp_path / "out") == before


def test_limits_that_decide_are_part_of_what_is_known(videos: Path, tmp_path: Path) -> None:
    run(videos, tmp_path / "out")
    small = Decode(max_failed=9, max_pixels=100)
    decode.decode_videos(videos=videos, out=tmp_path / "out", params=small, console=QUIET)
    reasons = {row.reason for row in read_index(tmp_path / "out").quarantined.values()}
    assert "too-large" in reasons


def test_more_failures_than_allowed_fail_after_publishing(videos: Path, tmp_path: Path) -> None:
    with pytest.raises(
        TooManyFailedError, match=r"2 files cannot be used, 1 are allowed \(empty: empty; page: not-a-v"
    ):
        decode.decode_videos(videos=videos, out=tmp_path / "out", params=Decode(max_failed=1), console=QUIET)
    index = read_index(tmp_path / "out")
    assert len(index.rows) == 5
    assert {row.id: row.reason for row in index.quarantined.values()} == {"empty": "empty", "page": "not-a-video"}


def test_command_line(
    videos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["decode", "videos", "--out", "index"]) == 5
    shown = capsys.readouterr()
    assert "flipped" in shown.out
    assert "page: not-a-video" in shown.err
    assert main(["decode", "videos", "--out", "index", "--max-failed", "2", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["videos"], summary["known"], summary["quarantined"]["empty"]) == (5, 5, "empty")
    row = json.loads((tmp_path / "index" / "index.jsonl").read_text().splitlines()[0])
    assert row["path"].startswith("videos/")


def test_videos_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"there is no 'nowhere'[\s\S]*framescribe dataset use"):
        run(Path("nowhere"), tmp_path / "out")
    (tmp_path / "bare").mkdir()
    with pytest.raises(InputError, match="'bare' holds no files"):
        run(Path("bare"), tmp_path / "out")
    assert main(["decode", "bare"]) == 3


def test_one_file_can_be_indexed(clip: Clip, tmp_path: Path) -> None:
    run(clip("good.mp4"), tmp_path / "out")
    assert list(read_index(tmp_path / "out").rows) == ["good"]


def test_the_hanging_and_the_aborting_file_among_fifty(
    tmp_path: Path, clip: Clip, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With decord's own faults let through, fifty good videos are done and two children are lost, no more."""
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(50):
        write_clip(folder / f"good_{number:02}.mp4", frames=3 + number % 5, width=64, height=48)
    shutil.copy(clip("hangs_decord.mp4"), folder / "hangs.mp4")
    shutil.copy(clip("aborts_decord.avi"), folder / "aborts.avi")
    rogue = Path(__file__).with_name("reckless_child.py")
    monkeypatch.setattr(guard, "PROGRAM", (guard.PROGRAM[0], str(rogue)))
    started: list[object] = []
    spawn = guard._spawn
    monkeypatch.setattr(guard, "_spawn", lambda *rest, **more: started.append(1) or spawn(*rest, **more))
    params = Decode(max_failed=2, stall=10.0)
    decode.decode_videos(videos=folder, out=tmp_path / "out", params=params, workers=2, console=QUIET)
    index = read_index(tmp_path / "out")
    assert len(index.rows) == 50
    assert {row.id: row.reason for row in index.quarantined.values()} == {"hangs": "timeout", "aborts": "memory"}
    assert len(started) <= 4  # two workers, and a replacement for each lost child


def test_the_hanging_and_the_aborting_file_are_usable_as_shipped(tmp_path: Path, clip: Clip) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in ("hangs_decord.mp4", "aborts_decord.avi", "good.mp4"):
        shutil.copy(clip(name), folder / name)
    decode.decode_videos(videos=folder, out=tmp_path / "out", params=Decode(), console=QUIET)
    rows = read_index(tmp_path / "out").rows
    assert {row.id: row.frames for row in rows.values()} == {
        Path(name).stem: CASES[name].frames for name in ("aborts_decord.avi", "good.mp4", "hangs_decord.mp4")
    }
