"""What a cluster costs and gives: speed-up from one worker to two, and the price of a task at 64 workers.

The speed-up is of the real `extract` on made clips with real decoding and a random network, one thread a worker;
start-up is not counted. A worker decodes and prepares beside its forward pass, so one alone on two cores uses part of
the second: it is measured held to one core, and free. The price of a task is measured with tasks that sleep, on 64
workers that are threads of this process: time beyond the sleep, and what the scheduler adds to memory. `--videos`,
`--tasks`, `--only speed|price`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from pipeline.core import Console
from pipeline.decoding import decode
from pipeline.extraction import extract
from pipeline.params import Decode, Extract
from workflows.cluster.executor import DaskExecutor
from workflows.cluster.journal import Journal
from workflows.cluster.scheduling import Dispatcher
from workflows.cluster.worker import WorkerEnvironment
from workflows.profiles.schema import Node

QUIET = Console(quiet=True)
NETWORK = {"family": "frames", "network": "mobilenet_v2", "weights": "random", "outputs": ["pool"]}
WORKERS = 64
SLEEP = 0.5  # seconds of a video; a light network on a GPU takes about as long
VIDEOS_A_TASK = 4
ONE_PROCESS = {  # 64 workers in one process would sample its stacks 6,400 times a second
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.scheduler.worker-saturation": 1.0,
}


def write_videos(folder: Path, count: int) -> None:
    """Noise that moves, 320x240 H.264, so that decoding costs what it usually does."""
    import av
    import numpy as np

    folder.mkdir()
    picture = np.random.default_rng(0).integers(0, 255, (480, 640, 3), dtype=np.uint8)
    for number in range(count):
        with av.open(str(folder / f"{number:03}.mp4"), "w") as container:
            stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
            for frame in range(50):
                shown = np.ascontiguousarray(picture[frame + number : frame + number + 240, 2 * frame :][:, :320])
                container.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
            container.mux(stream.encode(None))


def profile(workers: int, **settings: Any) -> Node:
    facts = {"videos_per_task": 2, "dashboard": None, "patience": 600.0, **settings}
    return Node(kind="node", workers=workers, device="cpu", **facts)


def busy_seconds(logs: Path, workers: int) -> tuple[float, int]:
    """From the moment when every worker has done its first video to the last one, and the videos in between."""
    events = [json.loads(line) for path in logs.glob("*/*.jsonl") for line in path.open()]
    done = sorted((each["time"] + each["seconds"], each["worker"]) for each in events if each["event"] == "done")
    firsts: dict[str, float] = {}
    for end, worker in done:
        firsts.setdefault(worker, end)
    warm = max(firsts.values()) if len(firsts) == workers else done[0][0]
    after = [end for end, _ in done if end > warm]
    return after[-1] - warm, len(after)


@contextmanager
def held_to(cores: int) -> Iterator[None]:
    """Everything that is started within: workers, their decoders and the scheduler's thread inherit it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def videos_per_second(index: Path, folder: Path, *, workers: int, cores: int) -> float:
    case = f"{workers}-on-{cores}"
    os.environ["FRAMESCRIBE_CACHE"] = str(folder / f"cache-{case}")
    logs = folder / f"logs-{case}"
    params = {"it": Extract.model_validate(NETWORK | {"sampling": {"every": 2}})}
    executor = DaskExecutor(profile(workers, logs=logs), QUIET)
    with held_to(cores):
        extract.extract_features(
            params, index=index, outs={"it": folder / "store"}, executor=executor, device="cpu", console=QUIET
        )
    seconds, videos = busy_seconds(logs, workers)
    return videos / seconds


def speed(videos: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_videos(folder / "videos", videos)
        decode.decode_videos(videos=folder / "videos", out=folder / "index", params=Decode(), workers=2, console=QUIET)
        rate = partial(videos_per_second, folder / "index", folder)
        held, free, two = rate(workers=1, cores=1), rate(workers=1, cores=2), rate(workers=2, cores=2)
    print(f"mobilenet_v2 on {videos} clips of 2 s, videos/s: one worker held to one core {held:.2f},")
    print(f"one worker free on two cores {free:.2f}, two workers on two cores {two:.2f}")
    print(f"speed-up of two workers on two cores over one on one: {two / held:.2f}x (aim 1.8x)")
    print(f"over one free on two: {two / free:.2f}x")


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def run_sleeping(seconds: Sequence[float], *, each: int) -> tuple[float, float]:
    """Seconds that the work took, and megabytes that it added to this process, which is scheduler and client."""
    from distributed import Client, LocalCluster

    settings = profile(WORKERS, videos_per_task=each)
    dispatcher = Dispatcher(
        sleep,
        seconds,
        environment=WorkerEnvironment(Path.cwd()),
        profile=settings,
        journal=Journal(None),
        workers=WORKERS,
        tell=QUIET.say,
    )
    facts = {
        "processes": False,
        "dashboard_address": None,
        "memory_limit": 0,
        "protocol": "tcp://",
        "host": "127.0.0.1",
    }
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, **facts) as cluster, Client(cluster) as client:
        client.wait_for_workers(WORKERS)
        before = psutil.Process().memory_info().rss
        started = time.perf_counter()
        count = sum(1 for _ in dispatcher.results(client))
        took = time.perf_counter() - started
        grown = psutil.Process().memory_info().rss - before
    assert count == len(seconds)
    return took, grown / 1e6


def price(videos: int) -> None:
    took, grown = run_sleeping([SLEEP] * videos, each=VIDEOS_A_TASK)
    ideal = videos * SLEEP / WORKERS
    idle = (took - ideal) * WORKERS / videos
    print(f"{videos} sleeping videos of {SLEEP} s, {VIDEOS_A_TASK} a task, on {WORKERS} workers: {took:.1f} s")
    print(f"ideal {ideal:.1f} s: efficiency {ideal / took:.1%}, {1e3 * idle:.1f} ms of a worker's time per video")
    print(f"memory of scheduler, client and worker threads: {grown:+.0f} MB, {1e3 * grown / videos:.1f} kB a video")
    tasks = 1000
    took, _ = run_sleeping([0.0] * tasks, each=1)
    print(f"{tasks} empty tasks: {tasks / took:.0f} tasks/s, {1e3 * took / tasks:.2f} ms each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=40)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--only", choices=["speed", "price"])
    args = parser.parse_args()
    if args.only != "price":
        speed(args.videos)
    if args.only != "speed":
        price(args.tasks)


if __name__ == "__main__":
    main()
