"""Milliseconds a row of bare forward passes of networks on sound, by PyTorch and by the exported engines, in one run.

One thread, untrained weights, rounds of all engines alternate and the best of each counts; processor time first, the
clock in brackets. "One at a time" is what an exported graph of one row costs. `--networks`, `--rows`, `--rounds`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from extract import difference, timed

from extractors import openl3, soundnet, vggish
from extractors.parts.network import NetworkExtractor
from pipeline.core import keep_freed_memory

NETWORKS: dict[str, Callable[[], NetworkExtractor]] = {
    "vggish": lambda: vggish.build("vggish", outputs=["pool"], weights=None),
    "soundnet": lambda: soundnet.build("soundnet8", outputs=["pool"], weights=None),
    "openl3": lambda: openl3.build("mel128_env", outputs=["pool"], weights=None),  # type: ignore[dict-item,return-value]
}
WAYS: dict[str, tuple[str, int | None]] = {
    "eager": ("eager", None),
    "onnxruntime, one at a time": ("onnxruntime", 1),
    "onnxruntime": ("onnxruntime", None),
    "openvino, one at a time": ("openvino", 1),
    "openvino": ("openvino", None),
}
BATCH = 8


def made(network: str, way: str) -> NetworkExtractor:
    extractor, (engine, rows) = NETWORKS[network](), WAYS[way]
    if engine != "eager":
        extractor.use(engine, rows=rows)  # type: ignore[arg-type]
    return extractor


def measure(network: str, *, rows: int, rounds: int) -> None:
    extractors = {way: made(network, way) for way in WAYS}
    batches = torch.randn(rows, *extractors["eager"].example.shape[1:]).split(BATCH)
    found = {way: [extractor(batch) for batch in batches] for way, extractor in extractors.items()}
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, extractor in extractors.items():
            clock, processor = timed(lambda extractor=extractor: [extractor(batch) for batch in batches])  # type: ignore[misc]
            times[way].append((1000 * processor / rows, 1000 * clock / rows))
    eager = min(times["eager"])[0]
    for way, each in times.items():
        processor, clock = min(each)
        gain, far = eager / processor, difference(found[way], found["eager"])
        print(f"| {network}, {rows} | {way} | {processor:.1f} ({clock:.1f}) | {gain:.2f} x | {far:.1e} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", default="vggish,soundnet")
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    print("| network, rows | engine | ms a row, processor (clock) | gain over eager | largest difference |")
    print("|---|---|---|---|---|")
    for network in args.networks.split(","):
        measure(network, rows=args.rows, rounds=args.rounds)


if __name__ == "__main__":
    main()
