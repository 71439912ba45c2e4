"""Captions per second in training, by one core, beside a public captioner (peer.py) in the same run.

    python benchmarks/train.py

Soft attention at the peer's sizes (LSTM 512, words 468, attention 256, vocabulary 9,462, batches of 200 captions, 28 x
4096 features per video), and with batches in which four captions of a video lie together (`captions_per_video`).
Weights and features are random: only speed is measured.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from models.base import Features, Modality
from models.soft_attention import SoftAttention
from pipeline.captioner import CaptionBatch, make_loss_context
from pipeline.core import keep_freed_memory
from pipeline.corpus import EOS
from pipeline.params import Schedule
from pipeline.training import make_optimizer

sys.path.insert(0, str(Path(__file__).parent))
from peer import Peer

VOCABULARY, CAPTIONS, FRAMES, CHANNELS = 9462, 200, 28, 4096
REPEATS = 2


def build() -> SoftAttention:
    torch.manual_seed(0)
    sizes = {"word_size": 468, "hidden_size": 512, "attention_size": 256, "output_size": 512}
    return SoftAttention(vocabulary=VOCABULARY, sizes={"appearance": CHANNELS}, order=False, **sizes)


def features(videos: int) -> Features:
    values = torch.randn(videos, FRAMES, CHANNELS, generator=torch.Generator().manual_seed(0))
    return {"appearance": Modality(values, torch.ones(videos, FRAMES, dtype=torch.bool))}


def captions(per_video: int) -> CaptionBatch:
    """4 to 11 words, 7.5 on average."""
    lengths = 4 + torch.arange(CAPTIONS) % 8
    words = torch.randint(4, VOCABULARY, (CAPTIONS, 12), generator=torch.Generator().manual_seed(0))
    words[torch.arange(12) > lengths.unsqueeze(1)] = 0
    words[torch.arange(CAPTIONS), lengths] = EOS
    return CaptionBatch([], torch.arange(CAPTIONS) // per_video, words, torch.arange(CAPTIONS))


def training(model: SoftAttention, *, per_video: int = 1) -> Callable[[], None]:
    given, batch = features(CAPTIONS // per_video), captions(per_video)
    return updating(model, lambda: model.loss(make_loss_context(model, given, batch, tables={}, pairs=CAPTIONS)))


def training_peer(peer: Peer, loss: Callable[[Tensor, Tensor], Tensor]) -> Callable[[], None]:
    frames, words = features(CAPTIONS)["appearance"].values, captions(1).words
    return updating(peer, lambda: loss(frames, words))


def updating(model: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
    optimizer = make_optimizer(model.train(), Schedule())

    def update() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    return update


def seconds(work: Callable[[], object], *, repeats: int = REPEATS) -> float:
    """Processor seconds, the best of some repeats: what others do on the machine counts least in it."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    model, peer = build(), Peer(vocabulary=VOCABULARY, channels=CHANNELS)
    for name, each in (("soft attention", model), ("peer", peer)):
        print(f"{name:24} {sum(weights.numel() for weights in each.parameters()) / 1e6:7.1f} million weights")
    print(f"peer, both loops         {apart(peer):7.0e} between their losses")
    once = seconds(training(model))
    told("training", once, once)
    told("four of each video", seconds(training(model, per_video=4)), once)
    told("peer, without its waste", seconds(training_peer(peer, peer.tidy)), once)
    told("peer, as published", seconds(training_peer(peer, peer.published)), once)


@torch.no_grad()
def apart(peer: Peer) -> float:
    """Without dropout the two loops must agree."""
    frames, words = features(8)["appearance"].values, captions(1).words[:8]
    return abs(float(peer.eval().published(frames, words) - peer.tidy(frames, words)))


def told(name: str, taken: float, ours: float) -> None:
    print(f"{name:24} {CAPTIONS / taken:7.1f} captions/s   {ours / taken:.2f} x the first")


if __name__ == "__main__":
    main()
