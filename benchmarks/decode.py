"""Frames per second of the guarded decoder against bare in-order PyAV and decord in the same run, and its memory.

    python benchmarks/decode.py [FOLDER_OF_VIDEOS]

Without a folder it makes its own clips. Every clip is read by each way in turn, several times; the medians of the
ratios are what to trust, also on a machine that does other things. "guarded" is `read_frames`, one worker, child
process and shared memory included; "to faster" is its ratio to the faster of bare PyAV and bare decord, "to tuned" to
PyAV with a converter kept across frames, and "guard" compares that PyAV with itself behind the guard.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median

import av
import numpy as np
from av.video.reformatter import VideoReformatter

sys.path.insert(0, str(Path(__file__).parents[1]))

from pipeline.core import DecodeError
from pipeline.decoding import Limits, borrowed_guard, inspect_video, read_frames, row_from
from pipeline.doctor import decord
from pipeline.index import VideoRow
from tests.clips import write_clip

ROUNDS = 5
STEPS = (1, 5)
SMALL = {"width": 320, "height": 240, "options": {"preset": "fast"}}
HD = {"width": 1920, "height": 1080, "options": {"preset": "ultrafast"}}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        given = sorted(Path(sys.argv[1]).iterdir()) if len(sys.argv) > 1 else made_clips(Path(folder))
        rows = [row for path in given if (row := examined(path)) is not None]
        for step in STEPS:
            compare(rows, step=step)
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


def guarded(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    return read_frames(row, wanted)


def guarded_pyav(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    """What the guard itself costs: to be compared with tuned PyAV, which decodes in the same way without one."""
    return read_frames(replace(row, backend="pyav"), wanted)


def largest(container: av.container.InputContainer) -> av.VideoStream:
    return max(container.streams.video, key=lambda stream: stream.width * stream.height)


def bare_pyav(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    """As its documentation shows it."""
    targets = set(wanted)
    with av.open(row.path, metadata_errors="replace") as container:
        for number, frame in enumerate(container.decode(largest(container))):
            if number in targets:
                yield frame.to_ndarray(format="rgb24")


def tuned_pyav(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    """With one converter for all frames, as our own PyAV backend has it."""
    targets = set(wanted)
    converter = VideoReformatter()
    with av.open(row.path, metadata_errors="replace") as container:
        for number, frame in enumerate(container.decode(largest(container))):
            if number in targets:
                yield converter.reformat(frame, format="rgb24", threads=1).to_ndarray()


def bare_decord(row: VideoRow, wanted: list[int]) -> Iterable[np.ndarray]:
    targets = set(wanted)
    reader = decord.VideoReader(row.path)
    for number in range(row.frames):
        frame = reader.next()
        if number in targets:
            yield frame.asnumpy()


WAYS: dict[str, Callable[[VideoRow, list[int]], Iterable[np.ndarray]]] = {
    "guarded": guarded,
    "pyav": bare_pyav,
    "decord": bare_decord,
    "pyav tuned": tuned_pyav,
    "guarded av": guarded_pyav,
}


def compare(rows: list[VideoRow], *, step: int) -> None:
    print(f"\nevery {step}. frame: sampled frames per second (median of {ROUNDS})")
    print(
        f"{'clip':<28}{'backend':>8}"
        + "".join(f"{way:>11}" for way in WAYS)
        + f"{'to faster':>11}{'to tuned':>10}{'guard':>8}"
    )
    to_faster, to_tuned, guard = [], [], []
    for row in rows:
        rates = measured(row, wanted=list(range(0, row.frames, step)))
        faster = [max(pair) for pair in zip(rates["pyav"], rates["decord"], strict=True)]
        to_faster.append(median(np.divide(rates["guarded"], faster)))
        to_tuned.append(median(np.divide(rates["guarded"], rates["pyav tuned"])))
        guard.append(median(np.divide(rates["guarded av"], rates["pyav tuned"])))
        shown = "".join(f"{median(rates[way]):11.0f}" for way in WAYS)
        print(f"{row.id[:27]:<28}{row.backend:>8}{shown}{to_faster[-1]:11.2f}{to_tuned[-1]:10.2f}{guard[-1]:8.2f}")
    print(f"{'median of the clips':<91}{median(to_faster):11.2f}{median(to_tuned):10.2f}{median(guard):8.2f}")


def measured(row: VideoRow, *, wanted: list[int]) -> dict[str, list[float]]:
    """Frames per second of each way in every round; decord is left out where the index does not trust it."""
    ways = {name: way for name, way in WAYS.items() if name != "decord" or row.backend == "decord"}
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            started = time.perf_counter()
            checksum = sum(int(frame[0, 0, 0]) for frame in way(row, wanted))
            if turn:  # the first round warms up
                rates[name].append(len(wanted) / (time.perf_counter() - started))
            assert checksum >= 0
    rates["decord"] = rates["decord"] or [0.0] * ROUNDS
    return rates


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
