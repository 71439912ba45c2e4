"""Changed bytes anywhere: every mutant is either decoded or refused with a reason, and the parent lives on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.console import Console
from pipeline.core.reasons import REASONS
from pipeline.decoding import decode, read_frames
from pipeline.index.video_index import read_index
from pipeline.params.decode import Decode
from tests.clips import tone, write_clip

Clip = Callable[[str], Path]
LIMITS = Decode(max_failed=10**6, timeout=60, stall=20, max_memory_mb=2048)


def seeds(folder: Path) -> list[bytes]:
    """Small clips of several containers and codecs."""
    folder.mkdir()
    sound = tone(0.5, rate=16000)
    made = [
        write_clip(folder / "a.mp4", frames=12, sound=sound),
        write_clip(folder / "b.mkv", frames=12, options={"bf": "2"}, sound=sound),
        write_clip(folder / "c.avi", frames=8, codec="mpeg4"),
        write_clip(folder / "d.avi", frames=6, codec="mjpeg", pix_fmt="yuvj420p"),
        write_clip(folder / "e.webm", frames=8, codec="libvpx-vp9"),
        write_clip(folder / "f.ts", frames=12),
        write_clip(folder / "g.gif", frames=6, codec="gif", pix_fmt="rgb8", fps=10),
        write_clip(folder / "h.mov", frames=6, codec="qtrle", pix_fmt="argb"),
    ]
    return [path.read_bytes() for path in made]


def mutant(data: bytes, random: np.random.Generator) -> bytes:
    """A few bytes changed, mostly in the header, and sometimes an end that is missing."""
    changed = bytearray(data)
    reach = len(changed) if random.random() < 0.5 else min(len(changed), 1000)
    for position in random.integers(0, reach, int(random.integers(1, 12))):
        changed[position] = int(random.choice([0, 0x7F, 0x80, 0xFF, random.integers(256)]))
    if random.random() < 0.2:
        del changed[int(random.integers(1, len(changed))) :]
    return bytes(changed)


def check(count: int, tmp_path: Path, *, seed: int) -> None:
    random = np.random.default_rng(seed)
    originals = seeds(tmp_path / "seeds")
    folder = tmp_path / "mutants"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04}.bin").write_bytes(mutant(originals[number % len(originals)], random))
    decode.decode_videos(videos=folder, out=tmp_path / "out", params=LIMITS, workers=2, console=Console(quiet=True))
    index = read_index(tmp_path / "out")
    assert len(index.rows) + len(index.quarantined) == count
    assert {row.reason for row in index.quarantined.values()} <= REASONS.keys()
    assert index.rows
    assert index.quarantined
    for row in list(index.rows.values())[:: max(1, len(index.rows) // 40)]:
        wanted = sorted({0, row.frames // 2, row.frames - 1})
        frames = list(read_frames(row, wanted, limits=decode.limits_of(LIMITS)))
        assert [frame.shape for frame in frames] == [(row.height, row.width, 3)] * len(wanted)


def test_forty_mutants(tmp_path: Path) -> None:
    check(40, tmp_path, seed=1)


@pytest.mark.slow
def test_five_hundred_mutants(tmp_path: Path) -> None:
    check(500, tmp_path, seed=2)
