"""How busy an accelerator is kept by one video at a time and by several in flight, in one run.

The accelerator is simulated (benchmarks/families/accelerator.py): it takes its time and no processor. `queued` starts
passes behind one another and fetches their rows later, as with a GPU, where frames travel as whole numbers and are
normalised; `waited for` is a function that sleeps, and gets normalised frames as the processor does. All else is real:
`extract` hashes, decodes in children, resizes to 256, crops 224, and writes to the cache.
Busy is the share of the time in which it computes, from the first video to the last, beginning and end included;
decoders have been started by other clips before. Processor seconds are those of all processes. The floor is what
decoding and preparing alone take, one clip after another, shared by all cores; the best wall time there can be is one
floor, or the device's own time where that is more. `--dask` measures a worker of a cluster instead,
`--clips`, `--cases 5:0.4,1:1` (every n-th frame : milliseconds a row).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

import extractors
from pipeline.core import Console, Executor, InProcess, cores, in_flight, keep_freed_memory
from pipeline.decoding import decode, read_frames
from pipeline.extraction import extract, sample
from pipeline.index import VideoIndex, read_index
from pipeline.params import Decode, Extract, Sampling

FAMILIES = str(Path(__file__).parent / "families")
if FAMILIES not in extractors.__path__:  # workers of a cluster load this file before anything else
    extractors.__path__.append(FAMILIES)

QUIET = Console(quiet=True)
CASES = "5:0.2,5:0.4,5:1,5:2,5:3,1:1"
DRIVEN = ("waited for", "queued")
FRAMES, FPS = 250, 25
BATCH = 8  # rows of a forward pass
WARM = 6  # clips that only start the decoders


@dataclass
class Timed:
    """An executor, from when to when its work was done, and by how many processor seconds."""

    executor: Executor
    span: tuple[float, float] = (0.0, 0.0)
    used: float = 0.0

    @property
    def workers(self) -> int:
        return self.executor.workers

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        began, before = time.time(), processor_seconds()
        yield from self.executor.map(work, items)
        self.span, self.used = (began, time.time()), processor_seconds() - before


@dataclass
class Journalled(Timed):
    """The same of a cluster, by its journal: looking for workers and gathering logs is not counted."""

    logs: Path = field(default_factory=Path)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        shutil.rmtree(self.logs, ignore_errors=True)
        before = processor_seconds()
        yield from self.executor.map(work, items)
        self.used = processor_seconds() - before
        lines = [json.loads(line) for path in self.logs.glob("*/*.jsonl") for line in path.open()]
        done = [(each["time"], each["time"] + each["seconds"]) for each in lines if each["event"] == "done"]
        self.span = min(began for began, _ in done), max(end for _, end in done)


@dataclass(frozen=True)
class Measured:
    busy: float  # share of the wall time
    wall: float
    processor: float


def write_clips(folder: Path, count: int) -> None:
    """Noise that moves, each clip another: 10 s, 320x240, H.264, 25 frames a second."""
    import av

    folder.mkdir()
    picture = np.random.default_rng(0).integers(0, 256, (15, 20, 3), np.uint8).repeat(16, 0).repeat(16, 1)
    for number in range(count):
        with av.open(str(folder / f"{number:03}.mp4"), "w") as container:
            stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
            stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
            for frame in range(FRAMES):
                shifted = np.ascontiguousarray(np.roll(picture, (number, frame), axis=(0, 1)))
                container.mux(stream.encode(av.VideoFrame.from_ndarray(shifted, "rgb24")))
            container.mux(stream.encode())


def index_of(videos: Path, out: Path) -> Path:
    decode.decode_videos(videos=videos, out=out, params=Decode(), workers=cores(), console=QUIET)
    return out


def processor_seconds() -> float:
    """Of this process and all that it started and that is still there."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    times = [each.cpu_times() for each in family]
    return sum(each.user + each.system for each in times)


def measure(timed: Timed, folder: Path, *, every: int, milliseconds: float, queued: bool) -> Measured:
    params = Extract.model_validate(
        {
            "family": "accelerator",
            "network": "simulated",
            "weights": "random",
            "outputs": ["corner"],
            "options": {"milliseconds": milliseconds, "queued": queued},
            "sampling": {"every": every},
        }
    )
    for index in ("warm", "index"):
        shutil.rmtree(folder / "cache", ignore_errors=True)
        log = Path(os.environ["FEED_BUSY"])
        log.write_text("")
        extract.extract_features(
            {"it": params},
            index=folder / index,
            outs={"it": folder / "store"},
            executor=timed,
            device="cpu",
            console=QUIET,
        )
    passes = [tuple(map(float, line.split())) for line in log.read_text().splitlines()]
    wall = timed.span[1] - timed.span[0]
    return Measured(sum(end - began for began, end in passes) / wall, wall, timed.used)


def bare(index: VideoIndex, *, every: int, queued: bool = False) -> float:
    """Processor seconds of decoding and of preparing batches, and nothing else, with extraction's settings."""
    from extractors.accelerator import Accelerator  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    keep_freed_memory()
    extractor = Accelerator(0.0)
    before = processor_seconds()
    for row in index.rows.values():
        rows = sample(Sampling(every=every), frames=row.frames, times=index.times(row.id))
        prepared = map(extractor.pixels if queued else extractor.prepare, read_frames(row, rows.needed))
        while batch := list(islice(prepared, BATCH)):
            torch.stack(batch)
    return processor_seconds() - before


def seconds_of_device(index: VideoIndex, *, every: int, milliseconds: float) -> float:
    """Of its own computing, were it never kept waiting."""
    return sum(len(range(0, row.frames, every)) for row in index.rows.values()) * milliseconds / 1000


@contextmanager
def dask_worker(folder: Path) -> Iterator[Timed]:
    """One worker that stays from one run to the next, as those of a running scheduler do."""
    import dask
    from distributed import Nanny, Scheduler, SpecCluster

    from workflows.cluster import DaskExecutor
    from workflows.profiles import Existing

    place = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    worker = {
        "cls": Nanny,
        "options": {**place, "nthreads": 1, "memory_limit": 0, "preload": [__file__], "silence_logs": 50},
    }
    scheduler = {"cls": Scheduler, "options": {**place, "dashboard": False, "allowed_failures": 0}}
    with (
        dask.config.set({"distributed.scheduler.worker-saturation": 1.0}),
        SpecCluster(workers={0: worker}, scheduler=scheduler, silence_logs=50) as cluster,
    ):
        logs = folder / "logs"
        profile = Existing(kind="scheduler", address=cluster.scheduler_address, device="cpu", logs=logs, dashboard=None)
        yield Journalled(DaskExecutor(profile, QUIET), logs=logs)


def cells(found: Measured, best: float) -> str:
    return f"{found.busy:.3f} | {found.wall:.2f} ({found.processor:.2f}) | {found.wall / best:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=24)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--dask", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ |= {"FRAMESCRIBE_CACHE": str(folder / "cache"), "FEED_BUSY": str(folder / "busy")}
        for name, count in (("index", args.clips), ("warm", WARM)):
            write_clips(folder / f"videos-{name}", count)
            index_of(folder / f"videos-{name}", folder / name)
        together = in_flight(cores())
        ways: dict[str, Timed] = {
            "one at a time": Timed(InProcess()),
            f"{together} in flight": Timed(InProcess(together)),
        }
        print("| device | every n-th frame, ms a row | floor, s | videos | busy | wall, s (processor) | wall / best |")
        print("|---|---|---|---|---|---|---|")
        if not args.dask:
            report(ways, folder, args.cases)
            return
        with dask_worker(folder) as timed:
            report({"dask worker": timed}, folder, args.cases)


def report(ways: dict[str, Timed], folder: Path, cases: str) -> None:
    index = read_index(folder / "index")
    bare(read_index(folder / "warm"), every=5)  # imports, and a decoder that is there
    floors: dict[tuple[int, bool], float] = {}
    for driven, case in product(DRIVEN, cases.split(",")):
        every, milliseconds, queued = int(case.split(":")[0]), float(case.split(":")[1]), driven == "queued"
        if (every, queued) not in floors:
            floors[every, queued] = bare(index, every=every, queued=queued) / cores()
        floor = floors[every, queued]
        best = max(floor, seconds_of_device(index, every=every, milliseconds=milliseconds))
        for name, timed in ways.items():
            found = measure(timed, folder, every=every, milliseconds=milliseconds, queued=queued)
            print(f"| {driven} | {every}, {milliseconds:g} | {floor:.2f} | {name} | {cells(found, best)} |", flush=True)


if __name__ == "__main__":
    main()
