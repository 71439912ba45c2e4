"""Stopped in the middle of a clip, by Ctrl-C or worse: no process and no file is left."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests import clips
from tests.live.serving import PROGRAM, descendants, gone_after, serving, uploaded, waited

pytestmark = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_in_the_middle_of_a_clip(trained: Path, tmp_path: Path, number: signal.Signals) -> None:
    own = trained / "cache/live"
    with serving(trained, "--profile", "one.yaml", program=PROGRAM, FRAMESCRIBE_CACHE="cache") as served:
        served.enter()
        address = uploaded(served, clips.write_clip(tmp_path / "clip.mp4").read_bytes())
        waited(served, address, until=("running",))
        started = wait_for_some(served.process.pid)
        served.process.send_signal(number)
        served.process.wait(60)

    assert not gone_after(60, started)
    if number == signal.SIGKILL:  # nobody could clean; the next one does
        assert own.exists()
        with serving(trained, "--profile", "one.yaml", FRAMESCRIBE_CACHE="cache"):
            assert len(list(own.iterdir())) == 1
    assert not own.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_again_while_it_cleans_up(tmp_path: Path, number: signal.Signals) -> None:
    """An impatient Ctrl-C, or a shell that sends its signals until the process is gone."""
    with serving(tmp_path, FRAMESCRIBE_CACHE=str(tmp_path / "cache")) as served:
        while served.process.poll() is None:
            served.process.send_signal(number)
            time.sleep(0.03)

    assert not (tmp_path / "cache/live").exists()


def test_it_outlives_its_terminal_where_it_was_told_to(tmp_path: Path) -> None:
    with serving(tmp_path, program=("nohup", *PROGRAM), FRAMESCRIBE_CACHE=str(tmp_path / "cache")) as served:
        served.process.send_signal(signal.SIGHUP)
        served.enter()
        assert served.ask("/caption").status == 200


def wait_for_some(process: int) -> set[int]:
    while not (found := descendants(process)):
        time.sleep(0.05)
    return found
