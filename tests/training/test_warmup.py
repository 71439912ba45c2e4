"""The learning rate of every update, as the optimiser has it when it moves the weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.params.train import Train
from pipeline.training import trainer as trainer_module
from tests.training.test_trainer import project  # noqa: F401 - a fixture
from tests.training.test_training_stages import KilledError, settings, trainer_of

pytestmark = pytest.mark.usefixtures("project")
WARM = settings(batch_size=8, epochs=4, warmup=3, warmup_from=1e-7, learning_rate=1e-4, drop_after=3, drop_to=1e-6)
STEPS = 6  # 48 captions
RISING = 1e-7 + (1e-4 - 1e-7) * np.arange(3 * STEPS) / (3 * STEPS)


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Of each update that is done."""
    found: list[float] = []

    class Listened(torch.optim.AdamW):
        def step(self, *given: Any) -> Any:
            found.append(self.param_groups[0]["lr"])
            return super().step(*given)

    monkeypatch.setitem(trainer_module.make_optimizer.__globals__["OPTIMIZERS"], "adamw", Listened)
    return found


def test_it_rises_with_every_update_of_its_epochs(rates: list[float]) -> None:
    trainer_of(WARM).run()

    assert rates == pytest.approx([*RISING, *[1e-6] * STEPS], rel=1e-9)


def test_it_goes_on_from_the_middle_of_an_epoch(rates: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    save = trainer_module.save_progress

    def save_and_die(*given: Any) -> None:
        save(*given)
        raise KilledError

    monkeypatch.setattr(trainer_module, "save_progress", save_and_die)
    done = False
    while not done:
        try:
            replace(trainer_of(WARM), keep_every=0.0).run()
            done = True
        except KilledError:
            continue

    assert rates == pytest.approx([*RISING, *[1e-6] * STEPS], rel=1e-9)


def test_fewer_captions_of_a_video_are_a_shorter_epoch(rates: list[float]) -> None:
    trainer_of(Train.model_validate({**WARM.model_dump(), "captions_per_video": 1, "epochs": 3})).run()

    steps = len(rates) // 3
    assert 1 < steps < STEPS
    assert rates == pytest.approx(1e-7 + (1e-4 - 1e-7) * np.arange(3 * steps) / (3 * steps), rel=1e-9)
