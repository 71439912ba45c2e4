"""`kill -9` at random moments: the resumed run ends in the bytes of an undisturbed one, and redoes nothing finished."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipeline.store import open_store
from tests.store.making import TOY, content, index_of, write_clips

ROOT = Path(__file__).parents[2]


def killed_often(folder: Path, *, kills: int, seed: int) -> dict[str, object]:
    write_clips(folder / "videos", 10)
    index_of(folder / "videos", folder / "data/index")
    command = [sys.executable, "-m", "tests.store.killing", str(folder), str(kills), str(seed)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kills", "seed"), [(20, 1), pytest.param(200, 2, marks=pytest.mark.slow)])
def test_random_kills_change_no_byte(tmp_path: Path, kills: int, seed: int) -> None:
    outcome = killed_often(tmp_path, kills=kills, seed=seed)

    assert outcome["kills"] == kills
    assert outcome["left"] == ["toy"]  # nothing half-made lies beside the store
    assert outcome["unfinished"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_workers_of_a_real_command(tmp_path: Path, seed: int) -> None:
    """Two worker processes and a real network; the command is started anew each time, as a user would."""
    numbers = random.Random(seed)
    write_clips(tmp_path / "videos", 6)
    index_of(tmp_path / "videos", tmp_path / "data/index")
    real = TOY | {"family": "frames", "network": "squeezenet1_1", "outputs": ["pool"]}
    params = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "train": {}}
    (tmp_path / "params.yaml").write_text(json.dumps(params | {"extract": {"real": real}}))
    (tmp_path / "two.yaml").write_text("workers: 2\ndevice: cpu\n")

    def start(cache: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pipeline", "extract", "real", "--profile", "two.yaml", "--json"]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "FRAMESCRIBE_CACHE": cache}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)

    started = time.monotonic()
    assert start("cache-reference").wait() == 0
    seconds = time.monotonic() - started
    reference = content(tmp_path / "features/real")
    for _ in range(6):
        run = start("cache")
        time.sleep(numbers.uniform(0.3, 1) * seconds)
        family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
        victim = numbers.choice(family)
        if victim.is_running():
            victim.send_signal(signal.SIGKILL)
        run.wait()
        _, alive = psutil.wait_procs(family, timeout=300)
        assert alive == []  # no orphan goes on
    last = start("cache")
    assert last.wait() == 0
    assert content(tmp_path / "features/real") == reference
    assert len(open_store(tmp_path / "features/real")) == 6
