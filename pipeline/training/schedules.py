"""What a stage of training prescribes for each epoch: optimiser, learning rate, probability of scheduled sampling."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from pipeline.params import Schedule

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "rmsprop": torch.optim.RMSprop,
    "adadelta": torch.optim.Adadelta,
    "sgd": torch.optim.SGD,
}
FUSED = ("adamw", "adam", "sgd")  # one pass over the weights instead of ten: a tenth of a step of a small model


def make_optimizer(model: nn.Module, stage: Schedule) -> torch.optim.Optimizer:
    settings: dict[str, Any] = {"lr": stage.learning_rate, "weight_decay": stage.weight_decay}
    if stage.optimizer in FUSED:
        settings["fused"] = True
    return OPTIMIZERS[stage.optimizer](model.parameters(), **settings)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def rate_at(stage: Schedule, epoch: float) -> float:
    """The learning rate after so many epochs of the stage, parts of one too: up in a line, and low at the end."""
    if stage.drop_after and epoch >= stage.drop_after:
        return stage.drop_to
    if epoch >= stage.warmup:
        return stage.learning_rate
    part = epoch / stage.warmup
    return stage.warmup_from + part * (stage.learning_rate - stage.warmup_from)


def own_words_at(stage: Schedule, epoch: int) -> float:
    """Scheduled sampling: the probability of an own word in the run's epoch, counted from 0 through all stages."""
    k = stage.own_words_after
    return 1 / (1 + k * math.exp(-epoch / k)) if k else stage.own_words  # = 1 - k / (k + exp(epoch / k))
