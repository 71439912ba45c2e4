"""Training that is no training any more: it stops at the first loss, gradient or weight that is no number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from pipeline.captioner import CaptionBatch
from pipeline.core import InputError, named

HINT = "lower learning_rate or clip and train again; what was kept before this step is unharmed"


@contextmanager
def naming_step(model: nn.Module, batch: CaptionBatch, *, epoch: int, step: int) -> Iterator[None]:
    """What goes wrong in a step is told with its place and its videos."""
    where = f"epoch {epoch}, step {step} (videos {named(batch.video_ids)})"
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error.message}", hint=error.hint) from error
    except RuntimeError:  # torch cannot draw a word from NaN
        require_finite_weights(model, where)
        raise


def require_finite_update(loss: float, norm: Tensor) -> None:
    """Before the optimizer's step, so that the weights are still those of the step before."""
    if not math.isfinite(loss) or not torch.isfinite(norm):
        what = f"the loss is {loss} and the length of its gradient {float(norm)}"
        raise InputError(f"{what}; training cannot go on", hint=HINT)


def require_finite_weights(model: nn.Module, where: str) -> None:
    """Before a model is scored or kept: no later step can use what a far too long one leaves."""
    wrong = [name for name, tensor in model.state_dict().items() if not torch.isfinite(tensor).all()]
    if wrong:
        raise InputError(f"{where}: weights became NaN or infinite: {named(wrong)}", hint=HINT)
