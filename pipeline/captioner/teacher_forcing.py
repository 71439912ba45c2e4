"""Teacher forcing: captions scored word by word, given the right words before, or now and then the model's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from models.base import Captioner, CaptionLoss, Features, LossContext, State, Step, select
from pipeline.captioner.batches import CaptionBatch
from pipeline.corpus import BOS, PAD, UNK

BANNED = (PAD, BOS, UNK)  # words that must not come out


@dataclass(frozen=True)
class TokenLogits:
    """W words of N captions, in the order in which they were read."""

    logits: Tensor  # (W, V)
    words: Tensor  # (W,)
    captions: Tensor  # (W,) whose word each is
    terms: Mapping[str, Tensor]  # the steps' own terms, (N,) each


def make_loss_context(
    model: Captioner,
    features: Features,
    batch: CaptionBatch,
    *,
    tables: dict[str, Tensor],
    pairs: int,
    words: int | None = None,
    own_words: float = 0.0,
    word_dropout: float = 0.0,
    smoothing: float = 0.0,
) -> LossContext:
    """Encodes the batch's videos; every caption comes `model.copies` times.

    Of a part of a batch `words` are those of the whole batch.
    """
    state = model.encode(features)
    device = next(iter(state.values())).device
    video_of, targets, captions = (
        part.to(device).repeat_interleave(model.copies, dim=0) for part in (batch.video_of, batch.words, batch.pairs)
    )

    total = None if words is None else words * model.copies

    def score(videos: State) -> CaptionLoss:
        each = select(videos, video_of)
        tokens = teacher_forced(model, each, targets, own_words=own_words, word_dropout=word_dropout)
        return caption_loss(tokens, len(targets), smoothing=smoothing, words=total)

    def score_no_grad(videos: State) -> CaptionLoss:
        with torch.no_grad(), _eval_mode(model):
            tokens = teacher_forced(model, select(videos, video_of), targets)
            return caption_loss(tokens, len(targets), words=total)

    return LossContext(features, state, score, score_no_grad, video_of, captions, tables, pairs)


def teacher_forced(
    model: Captioner, state: State, targets: Tensor, *, own_words: float = 0.0, word_dropout: float = 0.0
) -> TokenLogits:
    """Logits of all real words of (N, T) captions given the words before them.

    Longest captions first, so that finished ones leave the batch: padding costs nothing. `own_words` is the
    probability of scheduled sampling (Bengio et al. 2015): that often an earlier word is drawn from the model itself.
    `word_dropout` is that of an earlier word being read as unknown.
    """
    lengths, order = (targets != PAD).sum(1).sort(descending=True, stable=True)
    targets, state, sizes = targets[order], select(state, order), _active(lengths)
    read = _some_unknown(F.pad(targets, (1, -1), value=BOS), word_dropout)  # (N, T) the words before
    outputs = None if own_words else model.all_steps(state, read)
    if outputs is None:
        steps = _steps(model, state, read, sizes, own_words=own_words)
    else:
        steps = [Step(state, outputs[:active, position], {}) for position, active in enumerate(sizes)]
    places = torch.cat([order[:active] for active in sizes])
    return TokenLogits(
        logits=model.logits(torch.cat([step.output for step in steps])),
        words=torch.cat([targets[:active, position] for position, active in enumerate(sizes)]),
        captions=places,
        terms={name: _sums([step.terms[name] for step in steps], places, len(order)) for name in steps[0].terms},
    )


def _some_unknown(words: Tensor, rate: float) -> Tensor:
    """With nothing to replace no random number is drawn."""
    if not rate:
        return words
    replaced = (torch.rand(words.shape, device=words.device) < rate) & (words != BOS) & (words != PAD)
    return words.masked_fill(replaced, UNK)


def _steps(model: Captioner, state: State, read: Tensor, sizes: Sequence[int], *, own_words: float) -> list[Step]:
    """One after another, of captions that are still going on at each."""
    steps: list[Step] = []
    previous = read[:, 0]
    for position, active in enumerate(sizes):
        steps.append(model.step(_first_rows(state, active), previous[:active]))
        state = steps[-1].state
        if position + 1 < len(sizes):
            previous = _previous(model, steps[-1], read[:active, position + 1], own_words=own_words)
    return steps


def caption_loss(
    tokens: TokenLogits, captions: int, *, smoothing: float = 0.0, words: int | None = None
) -> CaptionLoss:
    """Sums over the words of each caption."""
    loss = F.cross_entropy(tokens.logits, tokens.words, label_smoothing=smoothing, reduction="none")  # (W,)
    nll = F.cross_entropy(tokens.logits, tokens.words, reduction="none") if smoothing else loss
    sums = [_sums([values], tokens.captions, captions) for values in (loss, nll)]
    lengths = torch.bincount(tokens.captions, minlength=captions)  # (N,)
    return CaptionLoss(loss=sums[0], nll=sums[1], words=words or len(tokens.words), lengths=lengths, terms=tokens.terms)


def mask_special_tokens(logits: Tensor) -> Tensor:
    """Log probabilities without the words that must not come out."""
    return logits.float().index_fill(1, torch.tensor(BANNED, device=logits.device), -torch.inf).log_softmax(-1)


@contextmanager
def _eval_mode(model: Captioner) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _previous(model: Captioner, step: Step, right: Tensor, *, own_words: float) -> Tensor:
    if own_words == 0.0:
        return right
    with torch.no_grad():
        own = torch.multinomial(mask_special_tokens(model.logits(step.output)).exp(), 1).squeeze(1)  # (A,)
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
