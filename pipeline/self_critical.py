"""Self-critical sequence training (Rennie et al. 2017): REINFORCE whose baseline is the model's own greedy sentence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.base import Captioner, State, select
from pipeline.rewards import Rewards
from pipeline.search import greedy, sample
from pipeline.vocabulary import PAD, Vocabulary


def self_critical_loss(
    model: Captioner,
    state: State,
    videos: Sequence[str],
    *,
    drawn_for: Tensor,
    rewards: Rewards,
    vocabulary: Vocabulary,
    max_words: int,
) -> Tensor:
    """(baseline - reward) x log p, per word drawn, of a sentence for each of `drawn_for` (N,), rows of the B videos."""
    drawn = sample(model, select(state, drawn_for), max_words=max_words)
    best = _greedy_words(model, state, max_words=max_words)  # (B, T): one for all that is drawn for a video
    sentences = [vocabulary.decode(words) for words in [*drawn.words.tolist(), *best.tolist()]]
    earned = rewards([*(videos[row] for row in drawn_for.tolist()), *videos], sentences)  # (N + B,)
    reward, baseline = torch.from_numpy(earned).float().to(drawn.log_prob.device).split([len(drawn_for), len(videos)])
    advantage = reward - baseline[drawn_for]  # (N,)
    return -(advantage * drawn.log_prob).sum() / (drawn.words != PAD).sum()


@torch.no_grad()
def _greedy_words(model: Captioner, state: State, *, max_words: int) -> Tensor:
    """The baseline: what the decoder would say without dropout."""
    model.eval()
    words = greedy(model, state, max_words=max_words).words
    model.train()
    return words
