"""Learning through random choices: the estimator against exact enumeration."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from models.parts.multi_sample import multi_sample_loss


def test_the_estimator_is_unbiased() -> None:
    """All 27 draws of three choices from three, weighed by their probability: the exact gradients of the bound."""
    logits = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64, requires_grad=True)
    log_p = torch.tensor([0.2, 0.05, 0.4], dtype=torch.float64).log().requires_grad_()
    log_choice = logits.log_softmax(0)
    draws = torch.tensor(list(itertools.product(range(3), repeat=3)))  # (27, 3)
    chances = log_choice[draws].sum(1).exp().detach()

    losses = multi_sample_loss(log_p[draws], log_choice[draws])
    found = torch.autograd.grad((chances * losses).sum(), (logits, log_p), retain_graph=True)

    expected = [[-0.06056979, -0.21156605, 0.27213583], [0.32933228, 0.06917257, 0.60149514]]
    torch.testing.assert_close(-torch.stack(found), torch.tensor(expected, dtype=torch.float64), atol=1e-8, rtol=0)
    bound = (log_choice[draws].sum(1).exp() * (log_p[draws].logsumexp(1) - math.log(3))).sum()
    torch.testing.assert_close((chances * losses).sum(), -bound)
    exact = torch.autograd.grad(bound, (logits, log_p))
    torch.testing.assert_close(-torch.stack(found), torch.stack(exact), atol=1e-9, rtol=0)


def test_the_paper_s_printed_gradient_would_be_biased() -> None:
    """Eqs. 13 and 14 with the gradient of p instead of log p: far from the bound's."""
    log_p = torch.tensor([0.2, 0.05, 0.4], dtype=torch.float64).log().requires_grad_()
    draws = torch.tensor(list(itertools.product(range(3), repeat=3)))
    chances = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64).log_softmax(0)[draws].sum(1).exp()

    printed = (log_p[draws].detach().softmax(1) * log_p[draws].exp()).sum(1)
    (found,) = torch.autograd.grad((chances * printed).sum(), log_p)

    assert (found - torch.tensor([0.32933228, 0.06917257, 0.60149514])).abs().max() > 0.1


def test_samples_of_a_caption_lie_together() -> None:
    """The loss of one caption does not depend on who else is in the batch."""
    log_p, log_choice = torch.randn(2, 6), torch.randn(2, 6)

    together = multi_sample_loss(log_p, log_choice)
    torch.testing.assert_close(together[1:], multi_sample_loss(log_p[1:], log_choice[1:]))


def test_each_sample_is_judged_by_the_others() -> None:
    """Eqs. 15 and 16, for p = .2, .05 and .4: in place of a sample stands the geometric mean of the two others."""
    p = [0.2, 0.05, 0.4]
    stands_in = [math.sqrt(0.05 * 0.4), math.sqrt(0.2 * 0.4), math.sqrt(0.2 * 0.05)]
    signals = [math.log(sum(p)) - math.log(sum(p) - p[k] + stands_in[k]) for k in range(3)]
    log_choice = torch.zeros(1, 3, requires_grad=True)

    multi_sample_loss(torch.tensor([p]).log(), log_choice).sum().backward()

    assert log_choice.grad is not None
    assert (-log_choice.grad[0]).tolist() == pytest.approx(signals, abs=1e-6)
