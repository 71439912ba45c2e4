"""Self-critical sequence training (Rennie et al. 2017): REINFORCE whose baseline is the model's own greedy sentence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.base import Captioner, State
from pipeline.rewards import Rewards
from pipeline.search import greedy, sample
from pipeline.vocabulary import PAD, Vocabulary


def self_critical_loss(
    model: Captioner,
    state: State,
    videos: Sequence[str],
    *,
    rewards: Rewards,
    vocabulary: Vocabulary,
    max_words: int,
) -> Tensor:
    """Over the rows of `state`, each a video: (baseline - reward) x log p of a drawn sentence, per word drawn."""
    drawn = sample(model, state, max_words=max_words)
    best = _greedy_words(model, state, max_words=max_words)  # (N, T)
    sentences = [vocabulary.decode(words) for words in [*drawn.words.tolist(), *best.tolist()]]
    earned = torch.from_numpy(rewards([*videos, *videos], sentences)).float()  # (2N,)
    advantage = (earned[: len(videos)] - earned[len(videos) :]).to(drawn.log_prob.device)  # (N,)
    return -(advantage * drawn.log_prob).sum() / (drawn.words != PAD).sum()


@torch.no_grad()
def _greedy_words(model: Captioner, state: State, *, max_words: int) -> Tensor:
    """The baseline: what the decoder would say without dropout."""
    model.eval()
    words = greedy(model, state, max_words=max_words).words
    model.train()
    return words
