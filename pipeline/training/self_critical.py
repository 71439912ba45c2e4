"""Self-critical sequence training (Rennie et al. 2017): REINFORCE whose baseline is the model's own.

The baseline is the reward of the video's greedy caption, or the mean of its other sampled captions (Luo, "A better
variant of self-critical sequence training", 2020). Neither depends on the caption that it is a baseline of, so both
leave the expected gradient as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.base import Captioner, State, select
from pipeline.captioner import greedy, sample
from pipeline.corpus import EOS, PAD, Vocabulary

Rewarding = Callable[[Sequence[str], Sequence[str], Sequence[bool]], np.ndarray]


class DrawnCaptions(NamedTuple):
    """Sentences of some videos that are to be judged."""

    videos: Sequence[str]
    video_of: Tensor  # (N,) row of `videos`
    words: Tensor  # (N, T) sampled
    greedy: Tensor | None  # (B, T) one of each video, where these are the baseline


class Judgement(NamedTuple):
    """What the sampled captions earned."""

    advantage: Tensor  # (N,) baseline - reward
    reward: Tensor  # (N,)
    words: Tensor  # in all captions that were judged together


def draw_captions(
    model: Captioner,
    state: State,
    videos: Sequence[str],
    *,
    video_of: Tensor,
    max_words: int,
    baseline: Literal["greedy", "others"] = "greedy",
) -> tuple[DrawnCaptions, Tensor]:
    """A sampled caption for each of `video_of` (N,), which are rows of the B videos, and its log probability (N,)."""
    sampled = sample(model, select(state, video_of), max_words=max_words)
    compared = _greedy_words(model, state, max_words=max_words).cpu() if baseline == "greedy" else None
    return DrawnCaptions(videos, video_of.cpu(), sampled.words.cpu(), compared), sampled.log_prob


def judge_captions(
    drawn: Sequence[DrawnCaptions], *, rewards: Rewarding, vocabulary: Vocabulary, max_words: int
) -> list[Judgement]:
    """All at once: METEOR's processes share them."""

    def earned(said: Sequence[Tensor], of: Sequence[Tensor]) -> Sequence[Tensor]:
        sentences = [vocabulary.decode(row) for words in said for row in words.tolist()]
        # by choice: a sentence of `max_words` is cut
        ended = [end for words in said for end in (words[:, :max_words] == EOS).any(1).tolist()]
        videos = [each.videos[row] for each, rows in zip(drawn, of, strict=True) for row in rows.tolist()]
        return torch.from_numpy(rewards(videos, sentences, ended)).float().split([len(rows) for rows in of])

    found = earned([each.words for each in drawn], [each.video_of for each in drawn])
    compared = [each.greedy for each in drawn if each.greedy is not None]
    if compared:
        of_videos = earned(compared, [torch.arange(len(words)) for words in compared])
        baselines = [each[one.video_of] for each, one in zip(of_videos, drawn, strict=True)]
    else:
        baselines = [mean_of_others(reward, one.video_of) for reward, one in zip(found, drawn, strict=True)]
    words = torch.stack([(each.words != PAD).sum() for each in drawn]).sum()
    return [Judgement(baseline - reward, reward, words) for baseline, reward in zip(baselines, found, strict=True)]


def self_critical_loss(log_prob: Tensor, judgement: Judgement) -> Tensor:
    """(baseline - reward) x log p, per sampled word."""
    return (judgement.advantage.to(log_prob.device) * log_prob).sum() / judgement.words.to(log_prob.device)


def mean_of_others(reward: Tensor, video_of: Tensor) -> Tensor:
    """(N,) for each caption the mean reward of the others of its video, of which there must be some."""
    totals = reward.new_zeros(int(video_of.max()) + 1).index_add(0, video_of, reward)  # (B,)
    others = torch.bincount(video_of)[video_of] - 1  # (N,)
    return (totals[video_of] - reward) / others


@torch.no_grad()
def _greedy_words(model: Captioner, state: State, *, max_words: int) -> Tensor:
    """(B, T) by the decoder in eval mode: one caption for all samples of a video."""
    model.eval()
    words = greedy(model, state, max_words=max_words).words
    model.train()
    return words
