"""Decoding, once for all models: batched beam search with attention recorded, greedy decoding and sampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch
from torch import Tensor

from models.base import CHOICE, Captioner, Features, State, select
from pipeline.captioner.best_words import best_of
from pipeline.captioner.repetition import without_repeats
from pipeline.captioner.teacher_forcing import mask_special_tokens
from pipeline.corpus import BOS, EOS, PAD

if TYPE_CHECKING:  # training searches too, and does not depend on the section `caption`
    from pipeline.params import Caption


@dataclass(frozen=True)
class Hypothesis:
    words: list[int]  # without the end word
    log_prob: float  # of the words and the end word
    attention: Mapping[str, Tensor]  # name -> (words, ...)


class CaptionSearch(Protocol):
    """From the encoded state of a few videos, and their ids, to a hypothesis for each."""

    def __call__(self, model: Captioner, state: State, videos: Sequence[str]) -> list[Hypothesis]: ...


@dataclass(frozen=True)
class Search:
    """Beam search."""

    beam: int  # 1 is greedy decoding
    max_words: int
    length_power: float = 0.0  # hypotheses are ranked by log p / length ** power
    no_repeat: int = 0  # no run of so many words twice; 0 is no rule

    @classmethod
    def of(cls, params: Caption) -> Search:
        return cls(params.beam, params.max_words, params.length_power, params.no_repeat or 0)

    def __call__(self, model: Captioner, state: State, videos: Sequence[str]) -> list[Hypothesis]:
        del videos  # beam search draws nothing
        return _found(model, state, self)


@dataclass
class _Beams:
    """K hypotheses for each of B videos, flattened to B * K rows."""

    state: State
    words: Tensor  # (B*K, T) so far, starting with BOS
    scores: Tensor  # (B, K) log probability
    finished: Tensor  # (B, K) bool
    attention: dict[str, list[Tensor]]  # name -> T tensors (B*K, ...)
    moved: frozenset[str] = frozenset()  # parts of the state that a step has replaced: the rest are the video's own


@torch.inference_mode()
def beam_search(model: Captioner, features: Features, search: Search) -> list[Hypothesis]:
    """The best hypothesis of every video in the batch."""
    return _found(model, model.encode(features), search)


def _found(model: Captioner, state: State, search: Search) -> list[Hypothesis]:
    """The best of every video; where that says nothing, a second search finds the best that says something, if any.

    Nothing is a short sentence, and so a likely one, for a model that has hardly learnt. All other videos keep what the
    first search found, which knows no such rule.
    """
    best = _best(_searched(model, state, search), search.length_power)
    silent = [video for video, hypothesis in enumerate(best) if not hypothesis.words]
    if silent:
        chosen = select(state, torch.tensor(silent, device=next(iter(state.values())).device))
        spoken = _best(_searched(model, chosen, search, speak=True), search.length_power)
        for video, hypothesis in zip(silent, spoken, strict=True):
            best[video] = hypothesis if hypothesis.words else best[video]
    return best


def beam_sentences(model: Captioner, state: State, videos: Sequence[str], *, search: Search) -> list[list[list[int]]]:
    """Of every video the words of all its finished beams, the likeliest first."""
    del videos  # as above
    beams = _searched(model, state, search, all_beams=True)
    words = beams.words.view(*beams.scores.shape, -1)[:, :, 1:].tolist()
    order = _ranked(beams, search.length_power).argsort(dim=1, descending=True, stable=True).tolist()
    return [
        [until_end(words[video][beam]) for beam in best if EOS in words[video][beam]]
        for video, best in enumerate(order)
    ]


class Readings(NamedTuple):
    """The best hypothesis of a video, and the one after the first reading."""

    last: Hypothesis
    first: Hypothesis | None


@torch.inference_mode()
def search_readings(
    model: Captioner, features: Features, search: CaptionSearch, *, videos: Sequence[str], first_reading: bool
) -> list[Readings]:
    """With `first_reading` a second search, from the state after the first reading, where the model has one."""
    state = model.encode(features)
    last = search(model, state, videos)
    earlier = model.first_reading(state) if first_reading else None
    if earlier is None:
        return [Readings(each, None) for each in last]
    return [Readings(*both) for both in zip(last, search(model, earlier, videos), strict=True)]


def _searched(
    model: Captioner, state: State, search: Search, *, all_beams: bool = False, speak: bool = False
) -> _Beams:
    """Until the best of every video is known, or all its beams have ended; to `speak` is not to end at once."""
    videos = next(iter(state.values())).shape[0]
    # All beams are equal before the first word: one a video is enough. A single row is left out, for products of one
    # row are computed by other kernels, with other last digits.
    beams = _first_beams(state, videos, 1 if videos > 1 else search.beam)
    for position in range(search.max_words + 1):
        if bool(beams.finished.all()) if all_beams else _decided(beams, search.length_power):
            break
        beams = _advance(model, beams, search, begin=speak and position == 0, last=position == search.max_words)
    return beams


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


def _advance(model: Captioner, beams: _Beams, search: Search, *, begin: bool, last: bool) -> _Beams:
    """The best hypotheses of every video, or as many as there are, each with a word more."""
    videos, before = beams.scores.shape
    step = model.step(beams.state, beams.words[:, -1])
    allowed = without_repeats(mask_special_tokens(model.logits(step.output)), beams.words, search.no_repeat)  # (B*K, V)
    log_probs = _end_at(allowed, last=last).view(videos, before, -1)  # (B, K, V)
    if begin:
        log_probs[..., EOS] = torch.finfo(log_probs.dtype).min  # after every word that can be said at all
    vocabulary = log_probs.shape[-1]
    if bool(beams.finished.any()):  # a finished beam keeps its score: its next word is PAD at no cost, nothing else
        log_probs[beams.finished] = -torch.inf
        log_probs[..., PAD].masked_fill_(beams.finished, 0.0)
    total = log_probs.add_(beams.scores.unsqueeze(-1)).flatten(1)  # (B, K*V)
    scores, flat = best_of(total, min(search.beam, before * vocabulary))
    parents, words = flat // vocabulary, flat % vocabulary
    rows = (parents + before * torch.arange(videos, device=flat.device).unsqueeze(1)).flatten()  # (B*K,)
    attention = {
        name: [past.index_select(0, rows) for past in beams.attention.get(name, [])] + [now.index_select(0, rows)]
        for name, now in step.attention.items()
    }
    # What no step has touched is the same for all beams of a video, and too large to be put in order at every word.
    moved = beams.moved | {name for name, part in step.state.items() if part is not beams.state[name]}
    placed = moved if scores.shape[1] == before else step.state.keys()
    return _Beams(
        state=step.state | select({name: step.state[name] for name in placed}, rows),
        words=torch.cat([beams.words.index_select(0, rows), words.flatten().unsqueeze(1)], 1),
        scores=scores,
        finished=beams.finished.gather(1, parents) | (words == EOS),
        attention=attention,
        moved=moved,
    )


def _decided(beams: _Beams, length_power: float) -> bool:
    """Whether no word can change any more which hypothesis of a video is the best: scores only fall.

    Divided by a length they may rise, and then all beams must have ended.
    """
    if length_power:
        return bool(beams.finished.all())
    ended = beams.scores.masked_fill(~beams.finished, -torch.inf).amax(1)  # (B,)
    growing = beams.scores.masked_fill(beams.finished, -torch.inf).amax(1)
    return bool((ended > growing).all())


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
    best = _ranked(beams, length_power).argmax(1)  # (B,)
    return [_hypothesis(beams, words[video, beam].tolist(), video, int(beam)) for video, beam in enumerate(best)]


def _ranked(beams: _Beams, length_power: float) -> Tensor:
    """(B, K) what beams are ranked by; those that are not finished come last."""
    videos, width = beams.scores.shape
    words = beams.words.view(videos, width, -1)[:, :, 1:]  # (B, K, T) without BOS
    lengths = (words != PAD).sum(-1).clamp(min=1)  # the end word counts
    return torch.where(beams.finished, beams.scores, -torch.inf) / lengths**length_power


def until_end(words: list[int]) -> list[int]:
    return words[: words.index(EOS)]


def _hypothesis(beams: _Beams, words: list[int], video: int, beam: int) -> Hypothesis:
    chosen = until_end(words)
    row = video * beams.scores.shape[1] + beam
    attention = {
        name: torch.stack([weights[row] for weights in steps[: len(chosen)]]).cpu()
        for name, steps in beams.attention.items()
        if chosen
    }
    return Hypothesis(chosen, float(beams.scores[video, beam]), attention)
