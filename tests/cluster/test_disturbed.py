"""Workers killed, stopped or out of disk in the middle: the store has the bytes of an undisturbed run.

What is computed again is at most what was in flight: an entry of the cache that was there is never written anew.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import dask
import psutil
import pytest

from pipeline.core.console import Console
from pipeline.core.errors import ClusterError, DiskFullError
from pipeline.decoding import decode
from pipeline.index.video_index import read_index
from pipeline.params.decode import Decode
from tests.clips import write_absurd_length, write_late_start
from tests.cluster.conftest import QUIET, Workers, journal
from tests.cluster.disturbing import (
    Disturbed,
    cached,
    kill_one,
    killed_while_starting,
    undisturbed,
    worker_processes,
)
from tests.dying import wait_for_the_end
from tests.store.making import extracted, index_of, write_clips
from workflows.cluster import respawn, scheduling


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kills", "count"), [(5, 12), pytest.param(50, 80, marks=pytest.mark.slow)])
def test_killed_workers_change_no_byte(kills: int, count: int, workers: Workers, tmp_path: Path) -> None:
    write_clips(tmp_path / "videos", count)
    index = index_of(tmp_path / "videos", tmp_path / "index")
    numbers, killed, before = random.Random(kills), list[int](), dict[str, int]()

    def kill(_: int) -> None:
        assert before.items() <= cached().items()
        before.update(cached())
        if len(killed) < kills:
            kill_one(numbers, killed=killed)

    extracted(index, tmp_path / "store", executor=Disturbed(workers(2, videos_per_task=1, attempts=9), kill))
    assert len(killed) == kills
    undisturbed(index, tmp_path)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kills", "count"), [(3, 12), pytest.param(20, 40, marks=pytest.mark.slow)])
def test_workers_killed_while_the_cluster_starts_and_later(
    kills: int, count: int, workers: Workers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_clips(tmp_path / "videos", count)
    index = index_of(tmp_path / "videos", tmp_path / "index")
    numbers, later = random.Random(kills), list[int]()

    def kill(_: int) -> None:
        if len(later) < kills:
            kill_one(numbers, killed=later)

    executor = replace(workers(2, videos_per_task=1, attempts=9), console=Console())
    with killed_while_starting(kills) as killed:
        extracted(index, tmp_path / "store", executor=Disturbed(executor, kill))
    assert (len(killed), len(later)) == (kills, kills)
    assert "a worker did not start" in capsys.readouterr().out
    undisturbed(index, tmp_path)


def test_no_worker_can_start(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All for the same reason: it is told, and the run ends long before `wait`, as one that lost all its workers."""
    monkeypatch.setattr(respawn, "LOOK", 0.1)
    monkeypatch.setattr(scheduling, "LOOK", 0.1)
    with (
        dask.config.set({"distributed.worker.preload": ["no.such.module"]}),
        pytest.raises(ClusterError, match="no worker can start: No module named 'no'") as caught,
    ):
        list(replace(workers(1, wait=3600.0), console=Console()).map(str, [1]))
    assert caught.value.exit_code == 9
    told = [line for line in capsys.readouterr().out.splitlines() if "did not start" in line]
    assert [line.rpartition("; ")[2] for line in told] == [*["another is started"] * 2, "no other is started"]


def test_workers_that_die_are_started_more_often_than_workers_that_fail(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a death nobody knows whether it comes again."""
    monkeypatch.setattr(respawn, "STARTS", 4)
    with (
        dask.config.set({"distributed.worker.preload": ["tests.cluster.dying_at_once"]}),
        pytest.raises(ClusterError, match="no worker can start"),
    ):
        list(replace(workers(1, wait=3600.0), console=Console()).map(str, [1]))
    assert capsys.readouterr().out.count("another is started") == 3


def test_a_stopped_worker_holds_nothing_up(workers: Workers, clips: Path, tmp_path: Path) -> None:
    """SIGSTOP: it is there, it says nothing, and its task is done by another."""
    index = index_of(clips, tmp_path / "index")
    stopped: list[psutil.Process] = []

    def stop(number: int) -> None:
        if number == 1:
            stopped.append(worker_processes()[0])
            stopped[0].suspend()

    extracted(index, tmp_path / "store", executor=Disturbed(workers(2, videos_per_task=1, patience=1.0), stop))
    wait_for_the_end(stopped[0].pid)
    undisturbed(index, tmp_path)


def test_a_full_disk(workers: Workers, clips: Path, tmp_path: Path) -> None:
    """Of one worker: the others do its work. Of all: the run ends and says so, and goes on when there is room."""
    index = index_of(clips, tmp_path / "index")
    with dask.config.set({"distributed.worker.preload": ["tests.cluster.full_disk"]}):
        Path("full").write_text("0 1")
        with pytest.raises(DiskFullError, match="no room to write"):
            extracted(index, tmp_path / "store", executor=workers(2))
        assert not (tmp_path / "store").exists()
        assert not list(Path("cache/features/unfinished").glob("*"))
        Path("full").write_text("0")
        extracted(index, tmp_path / "store", executor=workers(2))
    assert [event["full"] for event in journal(tmp_path) if event["event"] == "disk full"]
    undisturbed(index, tmp_path)


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_hanging_and_an_aborting_clip_among_good_ones(count: int, workers: Workers, tmp_path: Path) -> None:
    """With decord's own faults let through: all good clips are done, two are quarantined, and no worker is lost."""
    write_clips(tmp_path / "videos", count)
    write_late_start(tmp_path / "videos/hangs.mp4")
    write_absurd_length(tmp_path / "videos/aborts.avi")
    (tmp_path / "videos/hangs.whole.mp4").unlink(missing_ok=True)
    params = Decode(max_failed=2, stall=6.0)
    with dask.config.set({"distributed.worker.preload": ["tests.cluster.reckless"]}):
        executor = workers(2, videos_per_task=3)
        decode.decode_videos(
            videos=tmp_path / "videos", out=tmp_path / "out", params=params, executor=executor, console=QUIET
        )
    index = read_index(tmp_path / "out")
    assert len(index.rows) == count
    assert {row.id: row.reason for row in index.quarantined.values()} == {"hangs": "timeout", "aborts": "memory"}
    events = journal(tmp_path)
    assert {event["event"] for event in events} <= {"done", "log"}
    assert len({event["process"] for event in events if event["event"] == "done"}) == 2
    assert json.loads(next((tmp_path / "logs").glob("*/0.jsonl")).open().readline())["worker"] == "0"
