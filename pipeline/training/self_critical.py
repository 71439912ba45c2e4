"""Self-critical sequence training (Rennie et al. 2017): REINFORCE whose baseline is the model's own.

The baseline is the reward of the video's greedy caption, or the mean of its other sampled captions (Luo, "A better
variant of self-critical sequence training", 2020). Neither depends on the caption that it is a baseline of, so both
leave the expected gradient as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from models.base import Captioner, State, select
from pipeline.captioner import greedy, sample
from pipeline.corpus import EOS, PAD, Vocabulary
from pipeline.training.rewards import Rewards


class SelfCriticalLoss(NamedTuple):
    """Of the sampled captions of a batch."""

    loss: Tensor  # (baseline - reward) x log p, per sampled word
    reward: Tensor  # mean over the captions


def self_critical_loss(
    model: Captioner,
    state: State,
    videos: Sequence[str],
    *,
    video_of: Tensor,
    rewards: Rewards,
    vocabulary: Vocabulary,
    max_words: int,
    baseline: Literal["greedy", "others"] = "greedy",
) -> SelfCriticalLoss:
    """Of a sampled caption for each of `video_of` (N,), which are rows of the B videos."""

    def earned(words: Tensor, rows: Tensor) -> Tensor:
        sentences = [vocabulary.decode(row) for row in words.tolist()]
        ended = (words[:, :max_words] == EOS).any(1).tolist()  # by choice: a sentence of `max_words` is cut
        found = rewards([videos[row] for row in rows.tolist()], sentences, ended)
        return torch.from_numpy(found).float().to(words.device)

    sampled = sample(model, select(state, video_of), max_words=max_words)
    reward = earned(sampled.words, video_of)  # (N,)
    if baseline == "others":
        baselines = mean_of_others(reward, video_of)
    else:
        baselines = _greedy_reward(model, state, max_words=max_words, earned=earned)[video_of]
    loss = ((baselines - reward) * sampled.log_prob).sum() / (sampled.words != PAD).sum()
    return SelfCriticalLoss(loss, reward.mean())


def mean_of_others(reward: Tensor, video_of: Tensor) -> Tensor:
    """(N,) for each caption the mean reward of the others of its video, of which there must be some."""
    totals = reward.new_zeros(int(video_of.max()) + 1).index_add(0, video_of, reward)  # (B,)
    others = torch.bincount(video_of)[video_of] - 1  # (N,)
    return (totals[video_of] - reward) / others


@torch.no_grad()
def _greedy_reward(
    model: Captioner, state: State, *, max_words: int, earned: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """(B,) of greedy decoding, the decoder in eval mode: one caption for all samples of a video."""
    model.eval()
    words = greedy(model, state, max_words=max_words).words
    model.train()
    return earned(words, torch.arange(len(words)))
