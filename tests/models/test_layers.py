"""Layers that several papers share: rows that are missing, wherever they are."""

from __future__ import annotations

import torch

from models.base import Modality
from models.encoder_decoder import EncoderDecoder
from models.parts.layers import last_real, lengths
from models.parts.views import ranking_loss
from models.soft_attention import SoftAttention

MASK = torch.tensor([[True, True, False], [False, True, True], [False, False, False]])


def test_a_video_lasts_until_its_last_real_row() -> None:
    rows = torch.arange(9.0).view(3, 3, 1)

    assert lengths(MASK).tolist() == [2, 3, 1]
    assert last_real(rows, MASK)[:2].flatten().tolist() == [1.0, 5.0]


def test_models_that_read_in_order_hear_the_last_row_of_what_sets_in_late() -> None:
    """Rows of a sound track that begins after the picture are missing at first."""
    for kind in (EncoderDecoder, SoftAttention):
        torch.manual_seed(0)
        model = kind(vocabulary=9, sizes={"appearance": 4}, hidden_size=8, word_size=4).eval()
        rows, mask = torch.randn(1, 3, 4), MASK[1:2]
        other = torch.cat([rows[:, :2], torch.randn(1, 1, 4)], 1)

        said = [model.encode({"appearance": Modality(each, mask)})["hidden"] for each in (rows, other)]

        assert not torch.allclose(*said, atol=1e-4)


def test_a_missing_row_has_no_place_in_the_order() -> None:
    rows = torch.tensor([[[1e3], [0.0], [1.0]]])

    loss = ranking_loss(torch.ones(1, 1), rows, MASK[1:2], margin=1.0)

    torch.testing.assert_close(loss, torch.tensor([0.6931]), atol=1e-4, rtol=0)
