"""Captions per second in training, by one core, beside a public captioner (peer.py) in the same run.

    python benchmarks/train.py

Soft attention at the peer's sizes (LSTM 512, words 468, attention 256, vocabulary 9,462, batches of 200 captions, 28 x
4096 features per video), and with batches in which four captions of a video lie together (`captions_per_video`). Both
models differ in arithmetic, which is counted; the peer's own model in this project's loop does exactly the peer's.
Weights and features are random: only speed is measured.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from models.base import Captioner, Features, Modality
from models.soft_attention import SoftAttention
from pipeline.captioner import CaptionBatch, make_loss_context
from pipeline.core import keep_freed_memory
from pipeline.corpus import EOS
from pipeline.params import Schedule
from pipeline.training import make_optimizer

sys.path.insert(0, str(Path(__file__).parent))
from peer import Peer, PeerCaptioner

VOCABULARY, CAPTIONS, FRAMES, CHANNELS = 9462, 200, 28, 4096
REPEATS = 2


def build(*, output_size: int = 512) -> SoftAttention:
    torch.manual_seed(0)
    sizes = {"word_size": 468, "hidden_size": 512, "attention_size": 256, "output_size": output_size}
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


def training(model: Captioner, *, per_video: int = 1) -> Callable[[], None]:
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
    model, wide, peer = build(), build(output_size=0), Peer(vocabulary=VOCABULARY, channels=CHANNELS)
    for name, each in (("soft attention", model), ("without output_size", wide), ("peer", peer)):
        print(f"{name:24} {sum(weights.numel() for weights in each.parameters()) / 1e6:7.1f} million weights")
    print(f"peer, its three loops    {apart(peer):7.0e} between their losses")
    works = {
        "soft attention": training(model),
        "four of each video": training(model, per_video=4),
        "without output_size": training(wide),
        "peer, in our loop": training(PeerCaptioner(peer)),
        "peer, without its waste": training_peer(peer, peer.tidy),
        "peer, as published": training_peer(peer, peer.published),
    }
    taken = in_turn(works)
    for name, work in works.items():
        told(name, taken[name], taken["soft attention"], operations(work))


def in_turn(works: Mapping[str, Callable[[], None]], *, rounds: int = 3) -> dict[str, float]:
    """What else the machine does meets all of them."""
    found = [{name: seconds(work, repeats=1) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(each[name] for each in found) for name in works}


def operations(work: Callable[[], None]) -> float:
    """Of the matrix products of an update."""
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


@torch.no_grad()
def apart(peer: Peer) -> float:
    """Without dropout they must agree."""
    given, batch = features(8), captions(1)
    batch = CaptionBatch([], torch.arange(8), batch.words[:8], torch.arange(8))
    frames = given["appearance"].values
    ours = PeerCaptioner(peer.eval())
    losses = [
        peer.published(frames, batch.words),
        peer.tidy(frames, batch.words),
        ours.loss(make_loss_context(ours, given, batch, tables={}, pairs=8)),
    ]
    return max(float((each - losses[0]).abs()) for each in losses)


def told(name: str, taken: float, first: float, count: float) -> None:
    rate = f"{count / 1e9:6.0f} GFLOP, {count / 1e9 / taken:5.1f} a second"
    print(f"{name:24} {CAPTIONS / taken:7.1f} captions/s   {first / taken:.2f} x the first   {rate}")


if __name__ == "__main__":
    main()
