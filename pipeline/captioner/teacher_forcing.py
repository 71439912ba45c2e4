"""Captions read word by word by a model: given the right words before (teacher forcing), or now and then its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from models.base import Captioner, Forced, State, Step, select
from pipeline.data import BOS, PAD, UNK

NEVER = (PAD, BOS, UNK)  # words that must not come out


@dataclass(frozen=True)
class Reading:
    """W words of N captions, in the order in which they were read."""

    logits: Tensor  # (W, V)
    words: Tensor  # (W,)
    captions: Tensor  # (W,) whose word each is
    terms: Mapping[str, Tensor]  # the steps' own terms, (N,) each


def teacher_forced(model: Captioner, state: State, targets: Tensor, *, own_words: float = 0.0) -> Reading:
    """Scores of all real words of (N, T) captions given the words before them.

    Longest captions first, so that finished ones leave the batch: padding costs nothing. With `own_words` above
    zero each earlier word is, that often, one drawn from what the model itself would have said (Bengio et al. 2015).
    """
    lengths, order = (targets != PAD).sum(1).sort(descending=True, stable=True)
    targets, state = targets[order], select(state, order)
    steps: list[Step] = []
    previous = torch.full_like(targets[:, 0], BOS)
    sizes = _active(lengths)
    for position, active in enumerate(sizes):
        steps.append(model.step(_first_rows(state, active), previous[:active]))
        state = steps[-1].state
        if position + 1 < len(sizes):
            previous = _previous(model, steps[-1], targets[:active, position], own_words=own_words)
    places = torch.cat([order[:active] for active in sizes])
    return Reading(
        logits=model.logits(torch.cat([step.output for step in steps])),
        words=torch.cat([targets[:active, position] for position, active in enumerate(sizes)]),
        captions=places,
        terms={name: _sums([step.terms[name] for step in steps], places, len(order)) for name in steps[0].terms},
    )


def forced(reading: Reading, captions: int, *, smoothing: float = 0.0) -> Forced:
    """Sums over the words of each caption."""
    loss = F.cross_entropy(reading.logits, reading.words, label_smoothing=smoothing, reduction="none")  # (W,)
    nll = F.cross_entropy(reading.logits, reading.words, reduction="none") if smoothing else loss
    sums = [_sums([values], reading.captions, captions) for values in (loss, nll)]
    lengths = torch.bincount(reading.captions, minlength=captions)  # (N,)
    return Forced(loss=sums[0], nll=sums[1], words=len(reading.words), lengths=lengths, terms=reading.terms)


def allowed(logits: Tensor) -> Tensor:
    """Log probabilities without the words that must not come out."""
    return logits.float().index_fill(1, torch.tensor(NEVER, device=logits.device), -torch.inf).log_softmax(-1)


def _previous(model: Captioner, step: Step, right: Tensor, *, own_words: float) -> Tensor:
    if own_words == 0.0:
        return right
    with torch.no_grad():
        own = torch.multinomial(allowed(model.logits(step.output)).exp(), 1).squeeze(1)  # (A,)
    chosen = torch.rand(len(right), device=right.device) < own_words
    return torch.where(chosen, own, right)


def _sums(parts: list[Tensor], places: Tensor, captions: int) -> Tensor:
    values = torch.cat(parts)  # (W,)
    return values.new_zeros(captions).index_add(0, places, values)  # (N,)


def _active(lengths: Tensor) -> list[int]:
    """How many captions still have a word at each position."""
    return [int((lengths > position).sum()) for position in range(int(lengths[0]))]


def _first_rows(state: State, rows: int) -> State:
    return {name: tensor[:rows] if len(tensor) > rows else tensor for name, tensor in state.items()}
