"""The video-text embedding: the loss by hand, and what must not change a vector."""

from __future__ import annotations

import torch

from models.base import Modality
from models.parts.embedding import VideoTextEmbedding, hardest_negative_loss

SIMILARITIES = torch.tensor([[0.9, 0.5], [0.7, 0.8]])


def make() -> VideoTextEmbedding:
    torch.manual_seed(0)
    return VideoTextEmbedding(vocabulary=9, sizes={"a": 3, "b": 2}, word_size=4, size=6).eval()


def test_the_worst_mistake_counts() -> None:
    """Only "video 1 with caption 0" is within the margin: .2 + .7 - .8 (as a caption's mistake, .2 + .7 - .9 = 0)."""
    loss = hardest_negative_loss(SIMILARITIES, torch.eye(2, dtype=torch.bool))

    torch.testing.assert_close(loss, torch.tensor(0.1))


def test_of_several_mistakes_only_the_worst_counts() -> None:
    similarities = torch.tensor([[0.5, 0.6, 0.4], [-1.0, 0.5, -1.0], [-1.0, -1.0, 0.5]])

    loss = hardest_negative_loss(similarities, torch.eye(3, dtype=torch.bool))

    torch.testing.assert_close(loss, torch.tensor(0.3 + 0.3 + 0.1))  # row 0 once, columns 1 and 2


def test_other_captions_of_the_same_video_are_no_mistakes() -> None:
    same = torch.ones(2, 2, dtype=torch.bool)

    assert hardest_negative_loss(SIMILARITIES, same) == 0


def test_vectors_have_length_one_and_padding_does_not_matter() -> None:
    model = make()
    words = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
    rows = {name: torch.randn(2, 3, *shape) for name, shape in {"a": (3,), "b": (4, 2)}.items()}
    mask = torch.tensor([[True, True, True], [True, True, False]])

    texts = model.text(words)
    videos = model.video({name: Modality(values, mask) for name, values in rows.items()})
    alone = model.video({name: Modality(values[1:, :2], mask[1:, :2]) for name, values in rows.items()})

    torch.testing.assert_close(texts[1:], model.text(words[1:, :2]))
    torch.testing.assert_close(videos[1:], alone)
    for vectors in (texts, videos):
        torch.testing.assert_close(vectors.norm(dim=1), torch.ones(2))


def test_regions_that_are_not_there_do_not_thin_out_the_others() -> None:
    model = make()
    frames, regions, mask = torch.randn(1, 3, 3), torch.randn(1, 3, 4, 2), torch.ones(1, 3, dtype=torch.bool)
    filled = torch.cat([regions, torch.zeros(1, 3, 5, 2)], 2)  # by the extractor, up to its number of regions

    one, other = (model.video({"a": Modality(frames, mask), "b": Modality(each, mask)}) for each in (regions, filled))

    torch.testing.assert_close(one, other)


def test_the_order_of_words_matters() -> None:
    model = make()
    left, right = model.text(torch.tensor([[5, 6, 2], [6, 5, 2]]))

    assert not torch.allclose(left, right, atol=1e-3)
