"""Stopped in the middle of a clip, by Ctrl-C or worse: no process and no file is left."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests import clips
from tests.live.serving import PROGRAM, descendants, serving, uploaded, waited


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_in_the_middle_of_a_clip(trained: Path, tmp_path: Path, number: signal.Signals) -> None:
    own = trained / "cache/live"
    with serving(trained, "--profile", "one.yaml", program=PROGRAM, FRAMESCRIBE_CACHE="cache") as served:
        served.enter()
        address = uploaded(served, clips.write_clip(tmp_path / "clip.mp4").read_bytes())
        waited(served, address, until=("running",))
        started = wait_for_some(served.process.pid)
        served.process.send_signal(number)
        served.process.wait(60)

    last = time.monotonic() + 60
    while any(map(runs, started)) and time.monotonic() < last:
        time.sleep(0.05)
    assert [each for each in started if runs(each)] == []
    if number == signal.SIGKILL:  # nobody could clean; the next one does
        assert own.exists()
        with serving(trained, "--profile", "one.yaml", FRAMESCRIBE_CACHE="cache"):
            assert len(list(own.iterdir())) == 1
    assert not own.exists()


def wait_for_some(process: int) -> set[int]:
    while not (found := descendants(process)):
        time.sleep(0.05)
    return found


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
