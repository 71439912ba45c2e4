"""What the guarded decoder costs against bare decoders in the same run: the index, dense and sparse reads, and memory.

    python benchmarks/decode.py [FOLDER_OF_VIDEOS]

Without a folder it makes its own clips. Every clip is read by each way in turn, several times; the medians of the
ratios are what to trust, also on a machine that does other things. "index" is the examination of a video with each
backend: passes over its frames, and processor seconds in ratio to one bare decode by PyAV with a kept converter.
Bare decoders have one thread each, as ours have, of which a machine runs several: some clips let a decoder use two.
"guarded" is `read_frames`, one worker, child process and shared memory included, in ratio to the bare decoder of the
same backend: frames a second ("rate") and processor seconds of child and parent together ("cpu").
"""

from __future__ import annotations

import importlib
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import av
import numpy as np
from av.video.reformatter import VideoReformatter

sys.path.insert(0, str(Path(__file__).parents[1]))

from pipeline.core import DecodeError, keep_freed_memory
from pipeline.decoding import Limits, borrowed_guard, inspect_video, read_frames, read_video, row_from, torchcodec
from pipeline.decoding.decord import decord
from pipeline.decoding.examine import examine
from pipeline.decoding.opening import opened
from pipeline.index import VideoRow
from tests.clips import write_clip

ROUNDS = 5
STEPS = (1, 5)
SMALL = {"width": 320, "height": 240, "options": {"preset": "fast"}}
HD = {"width": 1920, "height": 1080, "options": {"preset": "ultrafast"}}


def main() -> None:
    keep_freed_memory()  # as children have it: else a bare decoder would fault its large frames in again and again
    with tempfile.TemporaryDirectory() as folder:
        given = sorted(Path(sys.argv[1]).iterdir()) if len(sys.argv) > 1 else made_clips(Path(folder))
        rows = [row for path in given if (row := examined(path)) is not None]
        backends = here()
        trusted = index(rows, backends)
        for step in STEPS:
            compare(rows, trusted, backends, step=step)
        memory(examined(write_clip(Path(folder) / "hd.mp4", frames=300, **HD)))


def made_clips(folder: Path) -> list[Path]:
    return [
        write_clip(folder / "h264.mp4", frames=300, **SMALL),
        write_clip(folder / "mpeg4.avi", frames=300, width=320, height=240, codec="mpeg4"),
        write_clip(folder / "hd.mp4", frames=60, **HD),
    ]


def examined(path: Path) -> VideoRow | None:
    try:
        facts = inspect_video(str(path))
    except DecodeError as error:
        print(f"{path.name}: left out ({error.reason})")
        return None
    return row_from(facts, video_id=path.stem, path=str(path), sha256="")


def largest(container: av.container.InputContainer) -> av.VideoStream:
    return max(container.streams.video, key=lambda stream: stream.width * stream.height)


def bare_pyav(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    """With one converter for all frames, as our own PyAV backend has it."""
    targets = set(wanted)
    converter = VideoReformatter()
    with av.open(row.path, metadata_errors="replace") as container:
        stream = largest(container)
        stream.thread_type, stream.codec_context.thread_count = "NONE", 1
        for number, frame in enumerate(container.decode(stream)):
            if number in targets:
                yield converter.reformat(frame, format="rgb24", threads=1).to_ndarray()


def bare_decord(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    targets = set(wanted)
    reader = decord.VideoReader(row.path, num_threads=1)
    for number in range(row.frames):
        frame = reader.next()
        if number in targets:
            yield frame.asnumpy()


def bare_torchcodec(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    """As its documentation shows it, frame by frame: in order, as our own backend has it."""
    decoder = importlib.import_module("torchcodec.decoders").VideoDecoder(row.path, dimension_order="NHWC")
    targets = set(wanted)
    for number in range(row.frames):
        pixels = decoder[number].numpy()
        if number in targets:
            yield pixels


BARE: dict[str, Callable[[VideoRow, list[int]], Iterable[np.ndarray]]] = {
    "pyav": bare_pyav,
    "decord": bare_decord,
    "torchcodec": bare_torchcodec,
}


def here() -> list[str]:
    try:
        torchcodec.build()
    except DecodeError as error:
        print(f"torchcodec: left out ({error.message})")
        return ["pyav", "decord"]
    return list(BARE)


def index(rows: list[VideoRow], backends: list[str]) -> dict[str, list[str]]:
    """The table of the index's cost; the backends that each clip may be read with."""
    print(f"\nindex: passes, and processor seconds to one bare PyAV decode (median of {ROUNDS})")
    print(f"{'clip':<28}" + "".join(f"{name:>16}" for name in backends))
    trusted: dict[str, list[str]] = {}
    ratios: dict[str, list[float]] = {name: [] for name in backends}
    for row in rows:
        everything = list(range(row.frames))
        bare = median(seconds(lambda: consume(bare_pyav(row, everything)))[0] for _ in range(ROUNDS))  # noqa: B023
        shown = ""
        for name in backends:
            costs = [seconds(lambda: examination(row, name)) for _ in range(ROUNDS)]  # noqa: B023
            tried, last = costs[-1][1]
            ratios[name].append(median(cost for cost, _ in costs) / bare)
            trusted.setdefault(row.id, []).extend([name] if last == name else [])
            shown += f"{1 + tried:>8}{ratios[name][-1]:8.2f}"
        print(f"{row.id[:27]:<28}{shown}")
    print(f"{'median of the clips':<28}" + "".join(f"{median(ratios[name]):16.2f}" for name in backends))
    return trusted


def examination(row: VideoRow, backend: str) -> tuple[bool, str]:
    """Whether a second decoder was tried, and which one the clip is read with."""
    with opened(row.path) as file:
        messages = list(examine(file, backend=backend, limits=Limits(), beat=lambda: None))
    return "trying" in messages[1], messages[-1]["backend"]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Of this process's processors."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def consume(frames: Iterable[np.ndarray]) -> None:
    assert sum(int(frame[0, 0, 0]) for frame in frames) >= 0


def compare(rows: list[VideoRow], trusted: dict[str, list[str]], backends: list[str], *, step: int) -> None:
    print(f"\nevery {step}. frame: guarded to bare of the same backend, rate and cpu (median of {ROUNDS})")
    print(f"{'clip':<28}" + "".join(f"{name:>18}" for name in backends))
    all_ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in backends}
    for row in rows:
        shown = ""
        for name in backends:
            if name not in trusted[row.id]:
                shown += f"{'-':>18}"
                continue
            built = replace(row, backend=name, build=torchcodec.build() if name == "torchcodec" else "")
            all_ratios[name].append(ratio(built, wanted=list(range(0, row.frames, step))))
            shown += f"{all_ratios[name][-1][0]:10.2f}{all_ratios[name][-1][1]:8.2f}"
        print(f"{row.id[:27]:<28}{shown}")
    medians = (np.median(each or [(np.nan, np.nan)], axis=0) for each in all_ratios.values())
    print(f"{'median of the clips':<28}" + "".join(f"{rate:10.2f}{cpu:8.2f}" for rate, cpu in medians))


def ratio(row: VideoRow, *, wanted: list[int]) -> tuple[float, float]:
    """Of the rates and of the processor seconds, bare over guarded: 1 where the guard costs nothing."""
    rates, costs = [], []
    with read_as_asked(wanted):
        for _ in range(ROUNDS + 1):
            began = time.perf_counter()
            bare_cpu, _ = seconds(lambda: consume(BARE[row.backend](row, wanted)))
            between, child = time.perf_counter(), child_seconds(row.backend)
            parent_cpu, _ = seconds(lambda: consume(read_frames(row, wanted)))
            rates.append((between - began) / (time.perf_counter() - between))
            costs.append(bare_cpu / (parent_cpu + child_seconds(row.backend) - child))
    return median(rates[1:]), median(costs[1:])  # the first round warms up


def read_as_asked(wanted: list[int]) -> AbstractContextManager[Any]:
    """Sparse lists too are read by the backend in question, not left to PyAV, and in one thread, as they always are."""
    if read_video._is_dense(wanted):
        return nullcontext()
    return patch.multiple(read_video, DENSE=10**6, has_spare_core=lambda: False)


def child_seconds(backend: str) -> float:
    with borrowed_guard(Limits(), backend=backend) as child:
        return child.cost["cpu_seconds"]


def memory(row: VideoRow | None) -> None:
    """Peak memory on a 1080p clip whose reader is slower than the decoder, the case in which a decoder runs ahead."""
    assert row is not None
    limits = Limits(timeout=601)  # other limits: a child of its own
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for frame in read_frames(row, range(row.frames), limits=limits):
        time.sleep(0.02)
        assert frame.shape == (1080, 1920, 3)
    with borrowed_guard(limits) as child:
        peak = child.cost["peak_mb"]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    print(f"\n1080p, {row.frames} frames ({row.frames * 6.22:.0f} MB of RGB), slow reader, backend {row.backend}:")
    print(f"  child {peak:.0f} MB at its peak, this process grew by {max(grown, 0):.0f} MB")


if __name__ == "__main__":
    main()
