"""A process group that was killed whole leaves nothing in shared memory once another command has run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pipeline.core.semaphores import SHARED
from tests.dying import runs
from tests.store.making import TOY, index_of, write_clips

ROOT = Path(__file__).parents[2]
REAL = TOY | {"family": "frames", "network": "squeezenet1_1", "outputs": ["pool"]}
PARAMS = {
    "dataset": {"name": "demo", "videos": "videos", "annotations": "none"},
    "extract": {"real": REAL},
    "train": {},
}
NODE = "kind: node\nworkers: 2\ndevice: cpu\ndashboard: null\n"


def mapped(family: list[psutil.Process]) -> set[int]:
    """The inodes of named semaphores that these processes use: others on this machine have some too."""
    found = set[int]()
    for each in family:
        with suppress(OSError):
            lines = [line.split() for line in Path(f"/proc/{each.pid}/maps").read_text().splitlines()]
            found |= {int(line[4]) for line in lines if len(line) > 5 and line[5].startswith(f"{SHARED}/sem.")}
    return found


def left_of(inodes: set[int]) -> list[str]:
    found = []
    for path in SHARED.glob("sem.*"):
        with suppress(FileNotFoundError):
            found += [path.name] if path.stat().st_ino in inodes else []
    return found


def until(happens: Callable[[], bool], *, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pipeline", *arguments]


@pytest.mark.parametrize("options", [["--workers", "2"], ["--profile", "node.yaml"]])
def test_a_group_that_was_killed(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    write_clips(tmp_path / "videos", 4)
    index_of(tmp_path / "videos", tmp_path / "data/index")
    (tmp_path / "params.yaml").write_text(json.dumps(PARAMS))
    (tmp_path / "node.yaml").write_text(NODE)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.Popen(
        command("extract", "real", "--quiet", *options), cwd=tmp_path, env=environment, start_new_session=True
    )
    seen, family = set[int](), list[psutil.Process]()

    def has_workers() -> bool:
        assert run.poll() is None
        family[:] = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
        seen.update(mapped(family))
        return bool(seen) and len(family) > 2

    until(has_workers)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    until(lambda: not any(map(runs, family)))

    # multiprocessing's own sweeper died with them; any command sweeps, a test beside this one may have been faster
    subprocess.run(command("weights", "list", "--quiet"), cwd=tmp_path, env=environment, check=True)

    assert left_of(seen) == []


def test_those_of_the_living_stay(tmp_path: Path) -> None:
    code = (
        "import sys, multiprocessing; from pipeline.core import claim_semaphores; claim_semaphores()\n"
        "lock = multiprocessing.get_context('spawn').Lock(); print(lock._semlock.name, flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    holder = subprocess.Popen([sys.executable, "-c", code], text=True, cwd=ROOT, **pipes)
    assert holder.stdout
    name = f"sem.{holder.stdout.readline().strip().removeprefix('/')}"

    subprocess.run(command("weights", "list", "--quiet"), cwd=ROOT, check=True)

    assert (SHARED / name).exists()
    holder.communicate()
    until(lambda: not (SHARED / name).exists())  # by multiprocessing itself
