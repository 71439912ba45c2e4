"""What a stage prescribes for its epochs."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest
import torch

from pipeline.params.train import Schedule
from pipeline.training.schedules import OPTIMIZERS, make_optimizer, own_words_at, rate_at


@pytest.mark.parametrize(
    ("epoch", "right_words"), [(0, 0.9600), (5, 0.9512), (10, 0.9406), (20, 0.9125), (50, 0.7493), (76, 0.5028)]
)
def test_scheduled_sampling_that_fades_with_the_epoch(epoch: int, right_words: float) -> None:
    assert 1 - own_words_at(Schedule(own_words_after=24), epoch) == pytest.approx(right_words, abs=5e-5)


@pytest.mark.parametrize("epoch", [0, 5, 500])
def test_scheduled_sampling_at_a_constant_rate(epoch: int) -> None:
    assert own_words_at(Schedule(own_words=0.25), epoch) == 0.25
    assert own_words_at(Schedule(), epoch) == 0.0


def test_a_short_fade_ends_at_own_words_only() -> None:
    assert own_words_at(Schedule(own_words_after=0.01), 1000) == 1.0


def test_both_rules_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="give own_words or own_words_after, not both"):
        Schedule(own_words=0.25, own_words_after=24)


def test_the_rate_rises_in_a_line_and_stays() -> None:
    stage = Schedule(learning_rate=4e-4, warmup=4, warmup_from=1e-7)

    rates = [rate_at(stage, epoch) for epoch in range(7)]

    assert rates[0] == 1e-7
    assert rates[2] == pytest.approx((1e-7 + 4e-4) / 2)
    assert [b - a for a, b in pairwise(rates[:5])] == pytest.approx([rates[1] - rates[0]] * 4)
    assert rates[4:] == [4e-4] * 3


def test_the_rate_falls_at_once_for_the_last_epochs() -> None:
    stage = Schedule(learning_rate=1e-4, warmup=1, drop_after=3, drop_to=1e-6)

    assert [rate_at(stage, epoch) for epoch in range(5)] == [1e-7, 1e-4, 1e-4, 1e-6, 1e-6]
    assert rate_at(Schedule(learning_rate=1e-4), 1000) == 1e-4


def test_the_rate_rises_within_an_epoch() -> None:
    stage = Schedule(learning_rate=1e-4, warmup=3, warmup_from=1e-7, drop_after=23)

    assert rate_at(stage, 0.5) == pytest.approx(1e-7 + (1e-4 - 1e-7) / 6)
    assert rate_at(stage, 2.75) == pytest.approx(1e-7 + (1e-4 - 1e-7) * 11 / 12)
    assert rate_at(stage, 22.99) == 1e-4
    assert rate_at(stage, 23.01) == stage.drop_to


def test_no_warmup_is_the_full_rate_at_once() -> None:
    assert rate_at(Schedule(learning_rate=0.1), 0) == 0.1


@pytest.mark.parametrize("name", get_args(Schedule.model_fields["optimizer"].annotation))
def test_every_optimizer_of_params_exists_and_takes_its_settings(name: str) -> None:
    optimizer = make_optimizer(torch.nn.Linear(2, 2), Schedule(optimizer=name, learning_rate=0.3, weight_decay=0.2))

    assert isinstance(optimizer, OPTIMIZERS[name])
    assert (optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["weight_decay"]) == (0.3, 0.2)
