"""What the simulated GPU notices, and what it lets pass: mistakes that are planted."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from models.base import Features, State, Step
from models.mean_pool import MeanPool
from pipeline.captioner.search import Search, beam_search
from tests.gpu.simulated import GPU, SECOND, simulated_gpu
from tests.gpu.test_captioners_on_gpu import features, loss_of

both = pytest.mark.parametrize("device", [GPU, SECOND])
MISPLACED = "same device"


class Counting(MeanPool):
    """A copy of a model with a mistake: places that nobody asked to be made where the words are."""

    def step(self, state: State, words: Tensor) -> Step:
        return super().step(state, words + torch.arange(len(words)) * 0)


class Remembering(MeanPool):
    """A number for every channel that is no buffer, so that `.to` leaves it behind."""

    def __init__(self) -> None:
        super().__init__(vocabulary=12, sizes={"appearance": 10}, hidden_size=8, word_size=4)
        self.mean = torch.zeros(10)

    def encode(self, features: Features) -> State:
        moved = {name: replace(each, values=each.values - self.mean) for name, each in features.items()}
        return super().encode(moved)


@both
def test_a_range_without_a_device(device: str) -> None:
    with simulated_gpu():
        model = Counting(vocabulary=12, sizes={"appearance": 10}, hidden_size=8, word_size=4).to(device)
        with pytest.raises(RuntimeError, match=MISPLACED):
            beam_search(model.eval(), features("mean_pool", device), Search(2, 3))
        with pytest.raises(RuntimeError, match=MISPLACED):
            loss_of(model.train(), features("mean_pool", device), half=device == GPU)


@both
def test_a_constant_that_is_no_buffer(device: str) -> None:
    with simulated_gpu(), pytest.raises(RuntimeError, match=MISPLACED):
        beam_search(Remembering().to(device).eval(), features("mean_pool", device), Search(2, 3))


@both
def test_indices_elsewhere(device: str) -> None:
    with simulated_gpu():
        here, there = torch.zeros(3), torch.arange(3).to(device)
        with pytest.raises(RuntimeError, match="indices on"):
            here[there]
        assert there[torch.arange(2)].device == there.device  # torch takes indices from the CPU anywhere


def test_lengths_of_sequences_to_pack_elsewhere() -> None:
    with simulated_gpu():
        sequences, lengths = torch.zeros(2, 3, 4).to(GPU), torch.tensor([3, 2]).to(GPU)
        with pytest.raises(RuntimeError, match="must be on the CPU"):
            nn.utils.rnn.pack_padded_sequence(sequences, lengths, batch_first=True)


def test_half_precision_is_what_training_computes_in() -> None:
    """Types are noticed as far as torch derives them: what it would convert or refuse in a kernel, it does not."""
    with simulated_gpu():
        layer, vectors = nn.Linear(4, 4).to(GPU), torch.zeros(2, 4).to(GPU)
        with torch.autocast(GPU, torch.bfloat16):
            assert layer(vectors).dtype == torch.bfloat16


def test_numbers_are_asked_of_nobody() -> None:
    """Choices take all there is, so that what comes after them runs too."""
    with simulated_gpu():
        scores = torch.rand(5).to(GPU)
        assert len(scores[scores > 0.5]) == len((scores > 0.5).nonzero()) == 5
        assert not bool((scores > 0.5).all())
        assert int(scores.argmax()) == 2
