"""Processor seconds for a second of video, card by card: preparing frames of 640 x 360, 25 a second, and forward pass.

One thread, untrained weights, the card's own sampling, one row of it (of a card that counts its rows: ten seconds of
video), without decoding; the least of all rounds. Moving noise, and noise to hear. The clock is given in brackets.
Names of cards, or none for all; `--rounds`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from extractors.base import AudioExtractor
from pipeline.catalogue import lookahead_of, read_cards
from pipeline.extraction import extractor_of, forward, sample
from pipeline.params import Extract
from pipeline.weights import NONE, RANDOM

RATE = 25  # frames a second
SIZE = (360, 640)
TEN_SECONDS = 10 * RATE


def frames_of_a_row(params: Extract) -> int:
    """From the beginning of a row to that of the next one."""
    rule = params.sampling
    apart = RATE / rule.fps if rule.fps else rule.every or 1
    return TEN_SECONDS if rule.count else round(apart * (rule.stride or 1))


def moving_noise(count: int) -> Iterator[np.ndarray]:
    picture = np.random.default_rng(0).integers(0, 256, (*(side // 8 for side in SIZE), 3), np.uint8)
    whole = picture.repeat(8, 0).repeat(8, 1)
    return (np.ascontiguousarray(np.roll(whole, 3 * number, axis=1)) for number in range(count))


def seen(extractor: Any, params: Extract) -> tuple[Callable[[], Any], float]:
    """What makes the row, and the seconds of video that it is of."""
    count = frames_of_a_row(params)
    rows = sample(params.sampling, frames=count, times=np.arange(count) / RATE, lookahead=lookahead_of(params.family))
    frames = list(moving_noise(len(rows.needed)))
    return lambda: forward(extractor, frames, rows=rows), count / RATE


def heard(extractor: AudioExtractor, params: Extract) -> tuple[Callable[[], Any], float]:
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, extractor.window).astype(np.float32)
    return lambda: extractor(extractor.prepare(samples)[None]), params.sampling.hop or 1.0


def cost(name: str, *, rounds: int) -> tuple[float, float]:
    """Processor and clock seconds for one of video."""
    params = read_cards()[name].params
    untrained = params.model_copy(update={"weights": NONE if params.weights == NONE else RANDOM})
    extractor = extractor_of(untrained, device="cpu")
    make = heard if isinstance(extractor, AudioExtractor) else seen
    run, seconds = make(extractor, untrained)  # type: ignore[arg-type]
    found = [timed(run) for _ in range(rounds)]
    return min(each[0] for each in found) / seconds, min(each[1] for each in found) / seconds


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    processor, clock = time.process_time(), time.perf_counter()
    with torch.inference_mode():
        run()
    return time.process_time() - processor, time.perf_counter() - clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cards", nargs="*", help="none: all")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    for name in args.cards or read_cards():
        processor, clock = cost(name, rounds=args.rounds)
        sys.stdout.write(f"{name:20} {processor:8.2f} ({clock:.2f})\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
