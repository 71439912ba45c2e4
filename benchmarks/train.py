"""Captions a second in training, by one core.

    python benchmarks/train.py

Soft attention at the sizes of a public LSTM captioner of MSVD (LSTM 512, words 468, attention 256, vocabulary 9,462,
batches of 200 captions, 28 x 4096 features a video), beside the same model that maps the frames again for every word,
and beside batches in which four captions of a video lie together (`captions_per_video`).
Weights and features are random: only speed is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from models.base import Features, Modality, State, Step
from models.soft_attention import SoftAttention
from pipeline.batches import CaptionBatch
from pipeline.lessons import make_lesson
from pipeline.memory import keep_freed_memory
from pipeline.params import Schedule
from pipeline.schedules import make_optimizer
from pipeline.vocabulary import EOS

VOCABULARY, CAPTIONS, FRAMES, CHANNELS = 9462, 200, 28, 4096
REPEATS = 2


class Repeating(SoftAttention):
    """The frames' projections inside the word loop, where published code often has them."""

    def encode(self, features: Features) -> State:
        return super().encode(features) | {"frames": features["appearance"].values}

    def step(self, state: State, words: Tensor) -> Step:
        memory = self.project(state["frames"])
        return super().step(state | {"memory": memory, "keys": self.attention.keys(memory)}, words)


def build(kind: type[SoftAttention]) -> SoftAttention:
    torch.manual_seed(0)
    sizes = {"word_size": 468, "hidden_size": 512, "attention_size": 256}
    return kind(vocabulary=VOCABULARY, sizes={"appearance": CHANNELS}, order=False, **sizes)


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
    optimizer = make_optimizer(model.train(), Schedule())

    def update() -> None:
        loss = model.loss(make_lesson(model, given, batch, tables={}, pairs=CAPTIONS))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return update


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds, the best of some repeats: what others do on the machine counts least in it."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    model = build(SoftAttention)
    once, again = seconds(training(model)), seconds(training(build(Repeating)))
    print(f"parameters          {sum(each.numel() for each in model.parameters()) / 1e6:8.1f} million")
    print(f"training            {CAPTIONS / once:8.1f} captions/s")
    together = seconds(training(model, per_video=4))
    print(f"four of each video  {CAPTIONS / together:8.1f} captions/s   ratio {once / together:.1f}")
    print(f"frames in the loop  {CAPTIONS / again:8.1f} captions/s   ratio {again / once:.1f}")


if __name__ == "__main__":
    main()
