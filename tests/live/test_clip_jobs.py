"""The queue outlives whatever the process that works on clips does; programs of these tests stand for that process."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.live import job_process
from pipeline.live.clip_job import ClipJob, stages_of
from pipeline.live.clip_jobs import ClipJobs

pytestmark = pytest.mark.slow

ENDED = "print('{\"ended\": true}', flush=True)"
LISTENING = "import os, sys, time\nfor line in sys.stdin:\n    "
CHILD = """import os, sys, threading, time
from pipeline.live import job_child
def caption_clip(job, *, out):
    {}
job_child.caption_clip = caption_clip
job_child.main()
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[ClipJobs]:
    made = ClipJobs(tmp_path / "live", device="cpu")
    yield made
    made.close()


@pytest.fixture
def become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the process of the next clips runs."""

    def program(text: str) -> None:
        path = tmp_path / "program.py"
        path.write_text(text)
        monkeypatch.setattr(job_process, "PROGRAM", (sys.executable, str(path)))

    return program


def worked(jobs: ClipJobs) -> dict[str, Any]:
    job = jobs.add(jobs.new_folder(), title="clip", video=Path("clip"), runs={"run": ["toy"]})
    last = time.monotonic() + 300  # a starved machine loads the libraries for minutes
    while not job.ended:
        assert time.monotonic() < last, jobs.facts(job)
        time.sleep(0.02)
    return jobs.facts(job)


def test_a_process_that_ends_without_a_last_word_has_no_sentence(jobs: ClipJobs, become: Any) -> None:
    """Its end of the pipe is closed before the kernel is done with it: it looks alive, and nothing was written."""
    become(LISTENING + "os.close(1); time.sleep(600)")

    facts = worked(jobs)

    assert facts["state"] == "failed"
    assert "process" in facts["problem"]["message"]


def test_nonsense_of_a_process_stops_no_other_clip(jobs: ClipJobs, become: Any) -> None:
    become(LISTENING + "print('no JSON', flush=True); time.sleep(600)")
    first = worked(jobs)
    become(LISTENING + ENDED)

    assert first["state"] == "failed"
    assert worked(jobs)["state"] == "done"


def test_a_folder_that_another_machine_swept_is_made_again(jobs: ClipJobs, become: Any) -> None:
    become(LISTENING + ENDED)
    shutil.rmtree(jobs.folder)

    assert worked(jobs)["state"] == "done"


def test_the_pipes_to_the_server_are_for_the_process_alone(jobs: ClipJobs, become: Any) -> None:
    """What libraries and children print is no message, and a child that reads its input takes no clip away."""
    become(CHILD.format("os.write(1, b'a library says\\n'); os.system('echo a child says; timeout 60 cat')"))

    assert [worked(jobs)["state"] for _ in range(2)] == ["done", "done"]


def test_a_thread_that_waits_for_ever_keeps_no_failed_process_alive(jobs: ClipJobs, become: Any) -> None:
    become(CHILD.format("threading.Thread(target=time.sleep, args=[600]).start(); raise RuntimeError('lost')"))

    facts = worked(jobs)

    assert facts["state"] == "failed"
    assert "RuntimeError: lost" in facts["problem"]["message"]


def test_extractors_of_a_run_go_on_side_by_side() -> None:
    job = ClipJob("id", "clip", Path("clip"), ["run"], Path("folder"), stages_of({"run": ["cached", "slow", "fast"]}))
    job.begin()
    for stage, of, done, total in [("decode", "", 1, 1), ("extract", "slow", 0, 0), ("extract", "fast", 0, 0)]:
        job.heard({"run": "run", "stage": stage, "of": of, "done": done, "total": total})
    job.heard({"run": "run", "stage": "extract", "of": "fast", "done": 3, "total": 3})
    job.heard({"run": "run", "stage": "extract", "of": "slow", "done": 2, "total": 9})

    def told() -> list[tuple[Any, ...]]:
        facts = [stage.facts() for stage in job.stages]
        return [tuple(each[name] for name in ("of", "state", "done", "total")) for each in facts if each["of"]]

    assert told() == [("cached", "waiting", 0, 0), ("slow", "running", 2, 9), ("fast", "done", 3, 3)]
    job.heard({"run": "run", "stage": "extract", "of": "fast", "done": 0, "total": 3})  # the pass is tried again
    assert told()[2] == ("fast", "running", 0, 3)
    job.heard({"run": "run", "stage": "search", "done": 0, "total": 1})
    assert [state for _, state, _, _ in told()] == ["kept", "done", "done"]
