"""The two LSTMs of VATEX: how they begin, and what their defaults are."""

from __future__ import annotations

import torch
from torch import nn

from models.vatex_temporal import VatexTemporal
from pipeline.corpus.vocabulary import PAD


def small(hidden_size: int) -> VatexTemporal:
    torch.manual_seed(0)
    return VatexTemporal(
        vocabulary=9, sizes={"appearance": 3}, word_size=6, hidden_size=hidden_size, video_size=7, attention_size=5
    )


def test_only_the_forget_gates_begin_open() -> None:
    """torch keeps the gates one after the other: input, forget, cell, output."""
    for hidden in (1, 3, 8):
        model = small(hidden)
        for cell in (model.lower, model.upper):
            _, forget, *_ = both = cell.bias_ih.chunk(4)
            assert forget.tolist() == [1.0] * hidden
            assert cell.bias_hh.chunk(4)[1].tolist() == [0.0] * hidden
            others = torch.cat([gate for place, gate in enumerate((*both, *cell.bias_hh.chunk(4))) if place % 4 != 1])
            assert others.abs().max() < 1.0 or hidden == 1  # uniform within 1 / sqrt(hidden), as torch draws them
            assert (others != 0).all()


def test_padding_is_no_word() -> None:
    model = small(8)

    assert model.embed.weight[PAD].count_nonzero() == 0
    assert (model.embed.weight[PAD + 1 :].count_nonzero(1) == 6).all()
    model.embed(torch.tensor([PAD, PAD + 1])).sum().backward()
    assert model.embed.weight.grad is not None
    assert model.embed.weight.grad.count_nonzero(1).tolist() == [0, 6, 0, 0, 0, 0, 0, 0, 0]


def test_half_of_the_units_are_dropped_unless_told() -> None:
    with torch.device("meta"):
        model = VatexTemporal(vocabulary=9, sizes={"appearance": 3})

    rates = [part.p for part in model.modules() if isinstance(part, nn.Dropout)]
    assert rates == [0.5] * 3
