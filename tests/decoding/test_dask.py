"""Inside a dask worker, whose own processes may not be forked: a native fault costs one task's video."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.reasons import DecodeError
from pipeline.decoding import Limits, guard, read_frames
from pipeline.index.video_index import VideoRow
from tests.clips import judged_frames
from tests.decoding.test_guard import ROGUE

distributed = pytest.importorskip("distributed")
Clip = Callable[[str], Path]
RowOf = Callable[[Path], VideoRow]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def checksum(row: VideoRow) -> tuple[int, int]:
    frames = list(read_frames(row, range(row.frames)))
    return os.getpid(), int(sum(int(frame.sum()) for frame in frames))


def provoke(operation: str, path: str) -> tuple[int, str]:
    child = guard.Guard(limits=Limits(stall=2.0 if operation == "hang" else 60.0), program=ROGUE)
    try:
        list(child.request(operation, path=path))
    except DecodeError as error:
        return os.getpid(), error.reason
    return os.getpid(), "no fault"


def test_faults_cost_one_video_and_the_worker_goes_on(client: Any, clip: Clip, row_of: RowOf) -> None:
    row = row_of(clip("good.mp4"))
    rows = [replace(row, id=str(number)) for number in range(6)]
    hang = client.submit(provoke, "hang", str(clip("hangs_decord.mp4")))
    abort = client.submit(provoke, "abort", str(clip("aborts_decord.avi")))
    results = client.gather(client.map(checksum, rows, pure=False))
    faults = client.gather([hang, abort])
    assert [reason for _, reason in faults] == ["timeout", "memory"]
    expected = int(np.stack(judged_frames(clip("good.mp4"))).sum())
    assert [total for _, total in results] == [expected] * 6
    assert len({process for process, _ in [*results, *faults]}) == 1  # one worker, never lost
