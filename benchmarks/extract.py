"""MobileNetV2 on demo clips: the whole guarded path against the bare forward pass, and what kept memory is worth."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from extractors.frames import build
from pipeline.console import Console
from pipeline.decoding import read_frames
from pipeline.demo.making import Recipe, make_demo_set
from pipeline.fingerprint import BATCH
from pipeline.forwarding import forward
from pipeline.index import VideoIndex, read_index
from pipeline.memory import keep_freed_memory
from pipeline.params import Decode, Sampling
from pipeline.sampling import sample
from pipeline.stages import decode

CLIPS = 20
EVERY = 5
ROUNDS = 3


def forward_seconds(batches: list[torch.Tensor], extractor) -> float:
    started = time.process_time()
    for batch in batches:
        extractor(batch)
    return time.process_time() - started


def prepared_batches(index: VideoIndex, extractor) -> list[torch.Tensor]:
    batches = []
    for row in index.rows.values():
        frames = [extractor.prepare(frame) for frame in read_frames(row, range(0, row.frames, EVERY))]
        batches += [torch.stack(frames[start : start + BATCH]) for start in range(0, len(frames), BATCH)]
    return batches


def whole_seconds(index: VideoIndex, extractor) -> float:
    started = time.perf_counter()
    for row in index.rows.values():
        rows = sample(Sampling(every=EVERY), frames=row.frames, times=index.times(row.id))
        forward(extractor, read_frames(row, rows.needed), rows=rows)
    return time.perf_counter() - started


def measure() -> None:
    torch.set_num_threads(1)
    keep = "--default-malloc" not in sys.argv
    if keep:
        keep_freed_memory()
    extractor = build("mobilenet_v2", outputs=["pool"], weights=None)
    noise = [torch.randn(BATCH, 3, 224, 224) for _ in range(10)]
    forward_seconds(noise[:2], extractor)
    bare = min(forward_seconds(noise, extractor) for _ in range(ROUNDS)) / (10 * BATCH)
    print(f"forward, {'kept memory' if keep else 'default malloc'}: {1000 * bare:.1f} CPU ms a frame")
    if keep:
        compare_whole_path(extractor)


def compare_whole_path(extractor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_demo_set(Path(folder) / "demo", recipe=Recipe(seed=0, clips=CLIPS), workers=1, console=Console(quiet=True))
        out = Path(folder) / "index"
        decode.run(videos=Path(folder) / "demo/videos", out=out, params=Decode(), console=Console(quiet=True))
        index = read_index(out)
        batches = prepared_batches(index, extractor)
        bare, whole = [], []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            forward_seconds(batches, extractor)
            bare.append(time.perf_counter() - started)
            whole.append(whole_seconds(index, extractor))
    print(f"{CLIPS} clips: bare forward {min(bare):.2f} s, decode + prepare + forward {min(whole):.2f} s")
    print(f"ratio bare / whole: {min(bare) / min(whole):.2f}")


if __name__ == "__main__":
    measure()
    if "--default-malloc" not in sys.argv:
        subprocess.run([sys.executable, __file__, "--default-malloc"], check=True)
