"""Learning through random choices with several samples of each (dualAFR's appendix; Mnih & Rezende 2016, "VIMCO")."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def multi_sample_loss(log_likelihood: Tensor, log_choice: Tensor) -> Tensor:
    """Minus the bound log 1/K sum_k p(Y | m_k), one value per caption, with the estimator's gradient.

    Both are (N, K): log p(Y | m_k), and log p(m_k) of the choices m_k that were drawn. The paper prints the second
    term of Eqs. 13 and 14 with the gradient of p; it is that of log p.
    """
    samples = log_likelihood.shape[1]
    likelihood = log_likelihood.detach()
    bound = likelihood.logsumexp(1) - math.log(samples)  # (N,)
    signal = bound.unsqueeze(1) - _baselines(likelihood)  # (N, K): Eq. 15
    gain = (signal * log_choice + likelihood.softmax(1) * log_likelihood).sum(1)  # its gradient is Eq. 14
    return (gain.detach() - gain) - bound


def _baselines(likelihood: Tensor) -> Tensor:
    """The bound without sample k, which the geometric mean of the others stands in for (Eq. 16)."""
    samples = likelihood.shape[1]
    others = (likelihood.sum(1, keepdim=True) - likelihood) / (samples - 1)  # (N, K)
    own = torch.eye(samples, dtype=torch.bool, device=likelihood.device)
    replaced = torch.where(own, others.unsqueeze(2), likelihood.unsqueeze(1))  # (N, K, K)
    return replaced.logsumexp(2) - math.log(samples)
