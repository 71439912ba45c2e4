"""Self-critical sequence training (Rennie et al. 2017): REINFORCE whose baseline is the model's own greedy sentence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.base import Captioner, State
from pipeline.reading import forced, teacher_forced
from pipeline.rewards import Rewards
from pipeline.search import greedy, sample
from pipeline.vocabulary import Vocabulary


def self_critical_loss(
    model: Captioner,
    state: State,
    videos: Sequence[str],
    *,
    rewards: Rewards,
    vocabulary: Vocabulary,
    max_words: int,
) -> Tensor:
    """Mean over the rows of `state`, each a video, of (baseline - reward) x log p per word of a drawn sentence."""
    with torch.no_grad():
        drawn = sample(model, state, max_words=max_words)  # (N, T)
        model.eval()  # the baseline is what the model would say, without dropout
        best = greedy(model, state, max_words=max_words)  # (N, T)
        model.train()
    sentences = [vocabulary.decode(words) for words in [*drawn.tolist(), *best.tolist()]]
    earned = torch.from_numpy(rewards([*videos, *videos], sentences)).float()  # (2N,)
    advantage = (earned[: len(videos)] - earned[len(videos) :]).to(drawn.device)  # (N,)
    read = forced(teacher_forced(model, state, drawn), len(drawn))
    return (advantage * read.nll).sum() / read.words
