"""Fifty uploads in a row, a fifth of them bad: every one is answered, and nothing of them is left in the server."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import clips
from tests.live.serving import Served, descendants, serving, uploaded, waited

PROGRAM = (sys.executable, str(Path(__file__).with_name("reckless_serve.py")))
GOOD, MORE_MB = 40, 40
DEADLY = {"timeout": {"timeout"}, "crash": {"crash", "memory"}}  # the abort is over an allocation that failed


@pytest.fixture
def served(trained: Path) -> Iterator[Served]:
    with serving(trained, "--profile", "one.yaml", program=PROGRAM, FRAMESCRIBE_CACHE="cache") as each:
        each.enter()
        yield each


def bad_clips(folder: Path) -> list[tuple[bytes, str]]:
    """Ten, each with the reason that it must have; the last two take the native decoder down."""
    whole = clips.write_clip(folder / "whole.mp4").read_bytes()
    size = {"codec": "png", "pix_fmt": "rgb24", "width": 4100, "height": 4100, "frames": 1}
    return [
        (b"", "empty"),
        (b"<html>not a video</html>", "not-a-video"),
        (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "not-a-video"),
        (bytes(range(256)) * 40, "not-a-video"),
        (whole[: len(whole) // 2], "not-a-video"),
        (clips.write_sound_only(folder / "sound.mp4").read_bytes(), "no-video-stream"),
        (clips.write_cover_art(folder / "cover.mp4").read_bytes(), "no-video-stream"),
        (clips.write_clip(folder / "bomb.mov", **size).read_bytes(), "too-large"),
        (clips.write_late_start(folder / "hangs.mp4").read_bytes(), "timeout"),
        (clips.write_absurd_length(folder / "aborts.avi").read_bytes(), "crash"),
    ]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_uploads(served: Served, tmp_path: Path) -> None:
    good = [clips.write_clip(tmp_path / f"good{n}.mp4", frames=12 + n).read_bytes() for n in range(8)]
    bad = bad_clips(tmp_path)
    waited(served, uploaded(served, good[0]))
    before = state_of(served)
    told: Counter[str] = Counter()
    for number in range(50):
        if number % 5 == 4:
            data, reason = bad[number // 5]
            facts = waited(served, uploaded(served, data), seconds=900)
            # Asked before PyAV, decord finds no better word for what is no video than that it cannot take it.
            allowed = DEADLY.get(reason, {reason, "unsupported"})
            assert facts["problem"]["reason"] in allowed, facts
            assert facts["problem"]["advice"]
        else:
            address = uploaded(served, good[number % 8])
            facts = waited(served, address, seconds=900)
            assert served.ask(f"{address}/result").json()["shown"]["videos"][0]["said"][0]["words"]
        told[facts["state"]] += 1

    assert told == {"done": GOOD, "failed": 10}
    megabytes, files = state_of(served)
    assert megabytes < before[0] + MORE_MB
    assert files <= before[1] + 2
    last = time.monotonic() + 120
    while descendants(served.process.pid) and time.monotonic() < last:
        time.sleep(0.2)
    assert descendants(served.process.pid) == set()


def state_of(served: Served) -> tuple[float, int]:
    """The server's memory in megabytes, and its open files."""
    process = Path(f"/proc/{served.process.pid}")
    pages = int((process / "statm").read_text().split()[1])
    return pages * 4096 / 1e6, len(list((process / "fd").iterdir()))
