"""A rule of search: no run of n words may come twice in a sentence."""

from __future__ import annotations

import torch
from torch import Tensor


def without_repeats(log_probs: Tensor, words: Tensor, n: int) -> Tensor:
    """`log_probs` (N, V) of the next word after `words` (N, T, with BOS): none that completes n words said before.

    The end is always allowed; the others keep the probabilities that the model gave them. 0 is no rule.
    """
    said = words[:, 1:]
    if not n or said.shape[1] < n:
        return log_probs
    runs = said.unfold(1, n, 1)  # (N, runs, n)
    latest = said[:, said.shape[1] - n + 1 :]  # (N, n - 1)
    again = (runs[..., :-1] == latest.unsqueeze(1)).all(-1)  # (N, runs)
    rows, places = again.nonzero(as_tuple=True)
    allowed = log_probs.clone()
    allowed[rows, runs[rows, places, -1]] = -torch.inf
    return allowed
