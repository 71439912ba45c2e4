"""All workers gone, a worker that grows without end, the client gone: what was finished is kept, and nothing hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGINT, SIGKILL

import psutil
import pytest

from pipeline.core.errors import ClusterError
from tests.cluster.conftest import Workers, journal
from tests.cluster.disturbing import Disturbed, cached, undisturbed
from tests.cluster.holding import ENOUGH, HOLD
from tests.cluster.site import Site
from tests.cluster.tasks import Troublesome
from tests.dying import runs
from tests.store.making import TOY, extracted, index_of, write_clips

ROOT = Path(__file__).parents[2]
PARAMS = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "extract": {"toy": TOY}, "train": {}}
PROFILE = "kind: node\nworkers: 2\ndevice: cpu\ndashboard: null\nvideos_per_task: 1\n"


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site().start()
    yield site
    site.stop()


@pytest.mark.slow
def test_all_workers_lost(site: Site, clips: Path, tmp_path: Path) -> None:
    """The run waits for another, then ends; when there is one again, the same command does what is missing."""
    index = index_of(clips, tmp_path / "index")
    assert list(site.executor().map(str, [1])) == ["1"]  # there is a worker by now

    def kill(number: int) -> None:
        if number == 3:
            site.kill_workers()

    with pytest.raises(ClusterError, match="no worker has been there for 2 s") as caught:
        extracted(index, tmp_path / "store", executor=Disturbed(site.executor(wait=2.0), kill))
    assert caught.value.exit_code == 9
    assert "what was finished is kept" in caught.value.hint
    assert not (tmp_path / "store").exists()
    kept = cached()
    assert 4 <= len(kept) < 12
    site.add_worker()

    summary = extracted(index, tmp_path / "store", executor=site.executor())

    assert summary["computed"] == 12 - len(kept)
    assert kept.items() <= cached().items()
    undisturbed(index, tmp_path)


@pytest.mark.slow
def test_a_worker_that_grows_beyond_its_memory(workers: Workers, tmp_path: Path) -> None:
    """Its nanny ends it; the item that does it every time is given up, and the others are done once each."""
    good = [f"good{number}" for number in range(4)]
    executor = workers(2, attempts=2, memory=1 << 30, time_limit=3600.0, videos_per_task=1)

    results = list(executor.map(Troublesome(), [*good[:2], "grows", *good[2:]]))

    told = "grows: it took its worker down, or needed more than time_limit, 2 times"
    assert sorted(results) == sorted([*(item.upper() for item in good), told])
    events = journal(tmp_path)
    assert [event["items"] for event in events if event["event"] == "lost"] == [["grows"]] * 2
    assert [event["items"] for event in events if event["event"] == "given up"] == [["grows"]]


@pytest.mark.slow
@pytest.mark.parametrize(("send", "number", "code"), [(os.kill, SIGKILL, -SIGKILL), (os.killpg, SIGINT, 130)])
def test_a_client_that_is_ended(send: Callable[[int, int], None], number: int, code: int, tmp_path: Path) -> None:
    """Killed, or Ctrl-C, which workers get too: they and their decoders end, and the next run finds what was done."""
    write_clips(tmp_path / "videos", 24)
    index = index_of(tmp_path / "videos", tmp_path / "data/index")
    Path("params.yaml").write_text(json.dumps(PARAMS))
    Path("node.yaml").write_text(PROFILE)
    command = [sys.executable, "-m", "tests.cluster.knowing_toy", "extract", "toy", "--profile", "node.yaml"]
    preload = {"DASK_DISTRIBUTED__WORKER__PRELOAD": '["tests.cluster.holding"]'}
    environment = {**os.environ, **preload, "PYTHONPATH": str(ROOT)}
    HOLD.touch()
    with Path("said").open("wb") as said:
        client = subprocess.Popen(command, env=environment, stderr=said, start_new_session=True)
    try:
        until(lambda: len(cached()) >= ENOUGH or client.poll() is not None)
        family = psutil.Process(client.pid).children(recursive=True)
        send(client.pid, number)
        assert client.wait(timeout=300) == code
    finally:
        client.kill()
        client.wait()
    assert len(family) >= 2
    assert "Traceback" not in Path("said").read_text()
    until(lambda: not any(map(runs, family)))
    kept = cached()
    assert ENOUGH <= len(kept) < 24
    assert not Path("features/toy").exists()

    summary = extracted(index, tmp_path / "store")

    assert summary["computed"] == 24 - len(kept)
    assert kept.items() <= cached().items()
    undisturbed(index, tmp_path)


def until(happens: Callable[[], bool], *, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
