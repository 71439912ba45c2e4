"""Decoding, once for all models: batched beam search with attention recorded, greedy decoding and sampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from models.base import CHOICE, Captioner, Features, State, select
from pipeline.captioner.teacher_forcing import mask_special_tokens
from pipeline.corpus import BOS, EOS, PAD

if TYPE_CHECKING:  # training searches too, and does not depend on the section `caption`
    from pipeline.params import Caption


@dataclass(frozen=True)
class Search:
    """How captions are searched for."""

    beam: int  # 1 is greedy decoding
    max_words: int
    length_power: float = 0.0  # hypotheses are ranked by log p / length ** power

    @classmethod
    def of(cls, params: Caption) -> Search:
        return cls(params.beam, params.max_words, params.length_power)


@dataclass(frozen=True)
class Hypothesis:
    words: list[int]  # without the end word
    log_prob: float  # of the words and the end word
    attention: Mapping[str, Tensor]  # name -> (words, ...)


@dataclass
class _Beams:
    """`width` hypotheses for each of `videos` videos, flattened to (videos * width) rows."""

    state: State
    words: Tensor  # (B*K, T) so far, starting with BOS
    scores: Tensor  # (B, K) log probability
    finished: Tensor  # (B, K) bool
    attention: dict[str, list[Tensor]]  # name -> T tensors (B*K, ...)
    moved: frozenset[str] = frozenset()  # parts of the state that a step has replaced: the rest are the video's own


@torch.inference_mode()
def beam_search(model: Captioner, features: Features, search: Search) -> list[Hypothesis]:
    """The best hypothesis of every video in the batch."""
    state = model.encode(features)
    videos = next(iter(state.values())).shape[0]
    beams = _first_beams(state, videos, search.beam)
    for position in range(search.max_words + 1):
        if bool(beams.finished.all()):
            break
        beams = _advance(model, beams, last=position == search.max_words)
    return _best(beams, search.length_power)


class SampledCaptions(NamedTuple):
    """A caption for every row of a state, sampled or greedy."""

    words: Tensor  # (N, T) ending in EOS, padded with PAD
    log_prob: Tensor  # (N,) of all choices: words, but not the end of a sentence that is too long, and CHOICE


def greedy(model: Captioner, state: State, *, max_words: int) -> SampledCaptions:
    """Greedy decoding: the likeliest next word again and again."""
    return _decode(model, state, max_words=max_words, choose=lambda log_probs: log_probs.argmax(1))


def sample(model: Captioner, state: State, *, max_words: int) -> SampledCaptions:
    """Sampled captions; the gradient of its log probability is that of the very choices made, dropout included."""
    return _decode(
        model,
        state,
        max_words=max_words,
        choose=lambda log_probs: torch.multinomial(log_probs.detach().exp(), 1).squeeze(1),
    )


def _decode(model: Captioner, state: State, *, max_words: int, choose: Callable[[Tensor], Tensor]) -> SampledCaptions:
    anything = next(iter(state.values()))
    previous = torch.full((len(anything),), BOS, device=anything.device)
    finished = torch.zeros_like(previous, dtype=torch.bool)
    words, log_prob = [], torch.zeros(len(anything), device=anything.device)
    for _ in range(max_words):
        step = model.step(state, previous)
        log_probs = mask_special_tokens(model.logits(step.output))  # (N, V)
        chosen = choose(log_probs)
        added = log_probs.gather(1, chosen.unsqueeze(1)).squeeze(1) + step.terms.get(CHOICE, 0.0)  # (N,)
        log_prob = log_prob + added.masked_fill(finished, 0.0)
        previous = torch.where(finished, PAD, chosen)
        words.append(previous)
        state, finished = step.state, finished | (previous == EOS)
        if bool(finished.all()):
            break
    else:
        words.append(torch.where(finished, PAD, EOS))
    return SampledCaptions(torch.stack(words, 1), log_prob)


def _first_beams(state: State, videos: int, width: int) -> _Beams:
    device = next(iter(state.values())).device
    scores = torch.full((videos, width), -torch.inf, device=device)
    scores[:, 0] = 0.0  # all beams are equal at first: only one may grow
    return _Beams(
        state=select(state, torch.arange(videos, device=device).repeat_interleave(width)),
        words=torch.full((videos * width, 1), BOS, device=device),
        scores=scores,
        finished=torch.zeros(videos, width, dtype=torch.bool, device=device),
        attention={},
    )


def _advance(model: Captioner, beams: _Beams, *, last: bool) -> _Beams:
    videos, width = beams.scores.shape
    step = model.step(beams.state, beams.words[:, -1])
    log_probs = _end_at(mask_special_tokens(model.logits(step.output)), last=last).view(videos, width, -1)  # (B, K, V)
    vocabulary = log_probs.shape[-1]
    # A finished beam keeps its score: its next word is PAD at no cost, and nothing else.
    rest = torch.full((vocabulary,), -torch.inf, device=log_probs.device)
    rest[PAD] = 0.0
    log_probs = torch.where(beams.finished.unsqueeze(-1), rest, log_probs)
    scores, flat = (beams.scores.unsqueeze(-1) + log_probs).flatten(1).topk(width)  # (B, K)
    parents, words = flat // vocabulary, flat % vocabulary
    rows = (parents + width * torch.arange(videos, device=flat.device).unsqueeze(1)).flatten()  # (B*K,)
    attention = {
        name: [past.index_select(0, rows) for past in beams.attention.get(name, [])] + [now.index_select(0, rows)]
        for name, now in step.attention.items()
    }
    # What no step has touched is the same for all beams of a video, and too large to be put in order at every word.
    moved = beams.moved | {name for name, part in step.state.items() if part is not beams.state[name]}
    return _Beams(
        state=step.state | select({name: step.state[name] for name in moved}, rows),
        words=torch.cat([beams.words.index_select(0, rows), words.flatten().unsqueeze(1)], 1),
        scores=scores,
        finished=beams.finished.gather(1, parents) | (words == EOS),
        attention=attention,
        moved=moved,
    )


def _end_at(log_probs: Tensor, *, last: bool) -> Tensor:
    """At the last position only the end is allowed."""
    if not last:
        return log_probs
    ended = torch.full_like(log_probs, -torch.inf)
    ended[:, EOS] = log_probs[:, EOS]
    return ended


def _best(beams: _Beams, length_power: float) -> list[Hypothesis]:
    videos, width = beams.scores.shape
    words = beams.words.view(videos, width, -1)[:, :, 1:]  # (B, K, T) without BOS
    lengths = (words != PAD).sum(-1).clamp(min=1)  # the end word counts
    ranked = torch.where(beams.finished, beams.scores, -torch.inf) / lengths**length_power
    best = ranked.argmax(1)  # (B,)
    return [_hypothesis(beams, words[video, beam].tolist(), video, int(beam)) for video, beam in enumerate(best)]


def _hypothesis(beams: _Beams, words: list[int], video: int, beam: int) -> Hypothesis:
    chosen = words[: words.index(EOS)]
    row = video * beams.scores.shape[1] + beam
    attention = {
        name: torch.stack([weights[row] for weights in steps[: len(chosen)]]).cpu()
        for name, steps in beams.attention.items()
        if chosen
    }
    return Hypothesis(chosen, float(beams.scores[video, beam]), attention)
