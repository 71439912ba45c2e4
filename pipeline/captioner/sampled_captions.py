"""Sampled captions whose words depend on the seed and the video alone, not on its neighbours in the batch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.base import Captioner, State, select
from pipeline.captioner.search import Hypothesis, until_end
from pipeline.captioner.teacher_forcing import mask_special_tokens
from pipeline.corpus import BOS, EOS, PAD

AT_ONCE = 512  # rows: the scores of a large vocabulary for more than that leave the processor's cache


@dataclass(frozen=True)
class SampleSearch:
    """A caption per video, drawn from the model's own probabilities."""

    max_words: int
    temperature: float = 1.0  # below 1 likely words become likelier
    seed: int = 0

    def __call__(self, model: Captioner, state: State, videos: Sequence[str]) -> list[Hypothesis]:
        return forced(model, state, [one for (one,) in self.draw(model, state, videos, count=1)])

    def draw(self, model: Captioner, state: State, videos: Sequence[str], *, count: int) -> list[list[list[int]]]:
        """Of every video the words of `count` captions."""
        at_once = max(1, AT_ONCE // count)  # videos
        found = []
        for start in range(0, len(videos), at_once):
            chosen = videos[start : start + at_once]
            rows = torch.arange(start, start + len(chosen), device=_device(state))
            chances = np.stack([self._chances(video, count) for video in chosen])  # (B, S, T)
            found += self._sampled(model, select(state, rows), torch.from_numpy(chances).to(_device(state)))
        return found

    def _chances(self, video: str, count: int) -> np.ndarray:
        """(S, T) uniform numbers of this video's own."""
        own = int.from_bytes(hashlib.sha256(video.encode(errors="surrogatepass")).digest()[:8])
        return np.random.default_rng([self.seed, own]).random((count, self.max_words))

    def _sampled(self, model: Captioner, state: State, chances: Tensor) -> list[list[list[int]]]:
        """Word by word. Captions of a video that have said the same so far share a row; those that ended leave."""
        videos, count, longest = chances.shape
        sentences = torch.full((videos * count, longest + 1), EOS, device=chances.device)  # (B*S, T+1)
        going = torch.arange(videos * count, device=chances.device)  # numbers of captions
        rows = going // count  # of the state, which each of them reads
        words = torch.full((videos,), BOS, device=chances.device)
        for position in range(longest):
            step = model.step(state, words)
            scores = mask_special_tokens(model.logits(step.output)) / self.temperature  # (R, V)
            said = _inverse(scores.softmax(-1), rows, chances.flatten(0, 1)[going, position])
            more = said != EOS
            going, rows, said = going[more], rows[more], said[more]
            sentences[going, position] = said
            if not len(going):
                break
            different, rows = (rows * scores.shape[1] + said).unique(return_inverse=True)
            state, words = select(step.state, different // scores.shape[1]), different % scores.shape[1]
        return [[until_end(each) for each in drawn] for drawn in sentences.view(videos, count, -1).tolist()]


def _inverse(probabilities: Tensor, rows: Tensor, chances: Tensor) -> Tensor:
    """(N,) the word of a row (R, V) in whose share of [0, 1) a number lies; in float64: sums of many are rounded."""
    totals = probabilities.double().cumsum(-1)  # (R, V)
    totals = totals / totals[:, -1:] + torch.arange(len(totals), device=totals.device).unsqueeze(1)  # one rising line
    found = torch.searchsorted(totals.flatten(), rows + chances, right=True) - rows * totals.shape[1]
    return found.clamp(max=totals.shape[1] - 1)


@torch.inference_mode()
def forced(model: Captioner, state: State, sentences: Sequence[Sequence[int]]) -> list[Hypothesis]:
    """Given sentences, one per video, as hypotheses: their log probability and what each word attended to."""
    longest = max((len(sentence) for sentence in sentences), default=0)
    ended = [[*sentence, EOS, *[PAD] * (longest - len(sentence))] for sentence in sentences]
    targets = torch.tensor(ended, device=_device(state))  # (B, T)
    log_prob, attention = torch.zeros(len(targets), device=targets.device), []
    words = torch.full_like(targets[:, 0], BOS)
    for position in range(longest + 1):
        step = model.step(state, words)
        scores = mask_special_tokens(model.logits(step.output))  # (B, V)
        state, words = step.state, targets[:, position]
        log_prob += scores.gather(1, words.unsqueeze(1)).squeeze(1).masked_fill(words == PAD, 0.0)
        attention.append(step.attention)
    return [
        Hypothesis(list(sentence), float(log_prob[row]), _recorded(attention[: len(sentence)], row))
        for row, sentence in enumerate(sentences)
    ]


def _recorded(steps: Sequence[Mapping[str, Tensor]], row: int) -> dict[str, Tensor]:
    return {name: torch.stack([each[name][row] for each in steps]).cpu() for name in (steps[0] if steps else {})}


def _device(state: State) -> torch.device:
    return next(iter(state.values())).device
