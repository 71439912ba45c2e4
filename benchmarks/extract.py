"""Seconds per clip of the whole guarded path against the bare forward pass on prepared tensors, per network and engine.

One process, same run, one thread for the network and one that prepares ahead: rounds of both alternate and the best of
each counts. Processor seconds are given beside, because a shared machine stretches the clock; those of the whole path
count both threads. `--engines eager,openvino`, `--networks`, `--frames`, `--rounds`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from extractors import frames, i3d
from extractors.parts.network import NetworkExtractor
from pipeline.core import Console, keep_freed_memory
from pipeline.decoding import decode, read_frames
from pipeline.extraction import SampledRows, batch_of, forward, sample
from pipeline.index import VideoIndex, VideoRow, read_index
from pipeline.params import Decode, Sampling
from pipeline.weights import converted_path, load_weights, status

NETWORKS: dict[str, tuple[Callable[[], NetworkExtractor], Sampling]] = {
    "i3d": (
        lambda: i3d.build("i3d_rgb", outputs=["pool", "grid"], weights=weights("i3d_rgb")),
        Sampling(window=16, stride=16),
    ),
    "inception_v4": (
        lambda: frames.build("timm:inception_v4", outputs=["pool"], weights=weights("inception_v4")),
        Sampling(every=5),
    ),
    "mobilenet_v2": (
        lambda: frames.build("mobilenet_v2", outputs=["pool"], weights=weights("mobilenet_v2")),
        Sampling(every=5),
    ),
}
PEER_I3D = (20.6, 28.4)  # seconds of one core for a 10 s clip: v-iashin/video_features, measured on such a machine
TEN_SECONDS = 250  # frames


def weights(name: str) -> dict[str, torch.Tensor] | None:
    """Speed does not need them, but the largest difference of an engine is more honest with them."""
    return load_weights(name) if converted_path(name).is_file() and status(name) == "present" else None


@contextmanager
def clip(count: int) -> Iterator[tuple[VideoIndex, VideoRow]]:
    """A clip of moving noise, 320x240 H.264, indexed like any other."""
    import av

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "videos/clip.mp4"
        path.parent.mkdir()
        picture = np.random.default_rng(0).integers(0, 256, (15, 20, 3), np.uint8).repeat(16, 0).repeat(16, 1)
        with av.open(str(path), "w") as container:
            stream = container.add_stream("libx264", rate=25)
            stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
            for number in range(count):
                shifted = np.ascontiguousarray(np.roll(picture, number, axis=1))
                container.mux(stream.encode(av.VideoFrame.from_ndarray(shifted, "rgb24")))
            container.mux(stream.encode())
        out = Path(folder) / "index"
        decode.decode_videos(videos=path.parent, out=out, params=Decode(), console=Console(quiet=True))
        index = read_index(out)
        yield index, next(iter(index.rows.values()))


def prepared(extractor: NetworkExtractor, row: VideoRow, rows: SampledRows) -> list[torch.Tensor]:
    """The batches that the whole path would make."""
    found = {
        number: extractor.prepare(frame)
        for number, frame in zip(rows.needed, read_frames(row, rows.needed), strict=True)
    }
    items = [torch.stack([found[number] for number in each]) for each in rows.indices]
    items = [item[0] for item in items] if extractor.takes == "frames" else items
    size = batch_of(extractor)
    return [torch.stack(items[start : start + size]) for start in range(0, len(items), size)]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processor, this process only."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


@dataclass(frozen=True)
class Measured:
    """One network by one engine; seconds of all rows, the best of the rounds."""

    network: str
    engine: str
    rows: int
    start: float  # of the first batches: mostly the export
    bare: tuple[float, float]  # clock, processor
    whole: tuple[float, float]
    difference: float  # to eager, relative to the largest value of an output


def measure(network: str, engines: list[str], *, count: int, rounds: int) -> Iterator[Measured]:
    build, rule = NETWORKS[network]
    graphs: dict[str, bytes] = {}  # an export serves both engines that take one
    with clip(count) as (index, row):
        rows = sample(rule, frames=row.frames, times=index.times(row.id))
        extractor = build()
        batches = prepared(extractor, row, rows)
        expected = [extractor(batch) for batch in batches[:2]]
        for engine in engines:
            if engine != "eager":
                extractor.use(engine, remember=partial(kept, graphs))  # type: ignore[arg-type]
            started = time.perf_counter()
            found = [extractor(batch) for batch in batches[:2]]
            start = time.perf_counter() - started
            bare, whole = [], []
            for _ in range(rounds):
                bare.append(timed(lambda: [extractor(batch) for batch in batches]))
                whole.append(timed(lambda: forward(extractor, read_frames(row, rows.needed), rows=rows)))
            best = difference(found, expected)
            yield Measured(network, engine, len(rows), start, min(bare), min(whole), best)


def kept(graphs: dict[str, bytes], make: Callable[[], bytes]) -> bytes:
    if "graph" not in graphs:
        graphs["graph"] = make()
    return graphs["graph"]


HEADINGS = (
    "network, rows | engine | first batches | bare, s (processor) | whole, s (processor) "
    "| bare / whole | gain over eager | largest difference"
)


def report(found: Iterator[Measured]) -> None:
    """A table for docs/performance.md, line by line as it is measured."""
    print(f"| {HEADINGS} |\n|{'---|' * (HEADINGS.count('|') + 1)}", flush=True)
    eager: dict[str, float] = {}
    for each in found:
        eager.setdefault(each.network, each.whole[0])
        cells = (
            f"{each.network}, {each.rows}",
            each.engine,
            f"{each.start:.0f} s",
            f"{each.bare[0]:.2f} ({each.bare[1]:.2f})",
            f"{each.whole[0]:.2f} ({each.whole[1]:.2f})",
            f"{each.bare[0] / each.whole[0]:.3f}",
            f"{eager[each.network] / each.whole[0]:.2f} x",
            f"{each.difference:.1e}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
        if each.network == "i3d":
            ten = each.whole[1] / each.rows * (TEN_SECONDS // 16)
            gains = " to ".join(f"{peer / ten:.2f}" for peer in PEER_I3D)
            print(f"i3d {each.engine}: 10 s of video in {ten:.1f} processor s, {gains} x the peer", file=sys.stderr)


def difference(found: list[dict[str, torch.Tensor]], expected: list[dict[str, torch.Tensor]]) -> float:
    pairs = [(ours[name], theirs[name]) for ours, theirs in zip(found, expected, strict=True) for name in theirs]
    return max(float((ours - theirs).abs().max() / theirs.abs().max()) for ours, theirs in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", default="i3d,inception_v4")
    parser.add_argument("--engines", default="eager,onnxruntime,openvino")
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    measured = (
        each
        for network in args.networks.split(",")
        for each in measure(network, args.engines.split(","), count=args.frames, rounds=args.rounds)
    )
    report(measured)


if __name__ == "__main__":
    main()
