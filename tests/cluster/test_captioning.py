"""A split captioned by workers of a cluster: the bytes that one process writes, also when a worker is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.captioning import caption
from pipeline.params.caption import Caption
from tests.captioning.test_shards import TESTED, make_runs, written
from tests.cluster.conftest import QUIET, Workers, journal
from tests.cluster.disturbing import Disturbed, worker_processes


def captioned(out: str, executor: object) -> dict[str, bytes]:
    speakers = {"one": [Path("runs/one")], "both": [Path("runs/one"), Path("runs/two")]}
    outs = {name: Path(out, f"{name}.json") for name in speakers}
    settings = {"captions": Path("data/captions"), "params": Caption(beam=2, max_words=6), "device": "cpu"}
    summaries = caption.caption_runs(speakers, outs=outs, executor=executor, console=QUIET, **settings)  # type: ignore[arg-type]
    assert {facts["videos"] for facts in summaries.values()} == {TESTED}
    return written(out, *speakers)


@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte(workers: Workers, tmp_path: Path) -> None:
    from pipeline.core.executors import InProcess

    make_runs(tmp_path)
    here = captioned("here", InProcess())
    for count in (1, 2, 4):
        assert captioned(f"by{count}", workers(count)) == here
    killed = []

    def kill(number: int) -> None:
        if number == 2:
            killed.append(worker_processes()[0])
            killed[0].kill()

    assert captioned("disturbed", Disturbed(workers(2, videos_per_task=1), kill)) == here
    assert killed
    assert {event["event"] for event in journal(tmp_path)} >= {"done", "lost"}
