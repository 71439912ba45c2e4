"""Self-critical sequence training (Rennie et al. 2017): REINFORCE whose baseline the model says itself.

The baseline is the reward of the video's greedy sentence, or the mean of the other sentences drawn for it (Luo, "A
better variant of self-critical sequence training", 2020). Neither depends on the sentence that it judges, so both
leave the expected gradient as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from models.base import Captioner, State, select
from pipeline.captioner import greedy, sample
from pipeline.data import EOS, PAD, Vocabulary
from pipeline.training.rewards import Rewards


class Judged(NamedTuple):
    """What was drawn, as training needs it."""

    loss: Tensor  # (baseline - reward) x log p, per word drawn
    reward: Tensor  # mean over the sentences


def self_critical_loss(
    model: Captioner,
    state: State,
    videos: Sequence[str],
    *,
    drawn_for: Tensor,
    rewards: Rewards,
    vocabulary: Vocabulary,
    max_words: int,
    baseline: Literal["greedy", "others"] = "greedy",
) -> Judged:
    """Of a sentence for each of `drawn_for` (N,), which are rows of the B videos."""

    def earned(words: Tensor, rows: Tensor) -> Tensor:
        sentences = [vocabulary.decode(row) for row in words.tolist()]
        ended = (words[:, :max_words] == EOS).any(1).tolist()  # by choice: a sentence of `max_words` is cut
        found = rewards([videos[row] for row in rows.tolist()], sentences, ended)
        return torch.from_numpy(found).float().to(words.device)

    drawn = sample(model, select(state, drawn_for), max_words=max_words)
    reward = earned(drawn.words, drawn_for)  # (N,)
    if baseline == "others":
        judged_by = mean_of_others(reward, drawn_for)
    else:
        judged_by = _greedy_reward(model, state, max_words=max_words, earned=earned)[drawn_for]
    loss = ((judged_by - reward) * drawn.log_prob).sum() / (drawn.words != PAD).sum()
    return Judged(loss, reward.mean())


def mean_of_others(reward: Tensor, video_of: Tensor) -> Tensor:
    """(N,) for each sentence the mean reward of the others of its video, of which there must be some."""
    totals = reward.new_zeros(int(video_of.max()) + 1).index_add(0, video_of, reward)  # (B,)
    others = torch.bincount(video_of)[video_of] - 1  # (N,)
    return (totals[video_of] - reward) / others


@torch.no_grad()
def _greedy_reward(
    model: Captioner, state: State, *, max_words: int, earned: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """(B,) of what the decoder would say without dropout: one sentence for all that is drawn for a video."""
    model.eval()
    words = greedy(model, state, max_words=max_words).words
    model.train()
    return earned(words, torch.arange(len(words)))
