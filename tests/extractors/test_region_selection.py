"""The rule that chooses regions: suppression within a class, best first, a fixed number, padding that is known."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, strategies as st
from torchvision.ops import nms

from extractors.parts.detection.selection import best_regions, stack_regions, stacked_shapes, surviving_scores


def random_regions(seed: int, regions: int, classes: int, *, levels: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Boxes that overlap a lot; with `levels`, scores that are often equal."""
    numbers = np.random.default_rng(seed)
    corners = numbers.uniform(0, 60, (regions, 2))
    boxes = np.concatenate([corners, corners + numbers.uniform(10, 60, (regions, 2))], 1)
    scores = numbers.integers(0, levels, (regions, classes)) / levels if levels else numbers.random((regions, classes))
    return torch.tensor(boxes, dtype=torch.float32), torch.tensor(scores, dtype=torch.float32)


@given(seed=st.integers(0, 2**32), regions=st.integers(1, 25), classes=st.integers(1, 6), pixel=st.sampled_from([0, 1]))
def test_suppression_of_all_classes_at_once_is_that_of_each(seed: int, regions: int, classes: int, pixel: int) -> None:
    boxes, scores = random_regions(seed, regions, classes)
    expected = torch.zeros_like(scores)
    for number in range(classes):
        kept = nms(boxes + torch.tensor([0, 0, pixel, pixel]), scores[:, number], 0.3)
        expected[kept, number] = scores[kept, number]

    assert torch.equal(surviving_scores(boxes, scores, threshold=0.3, pixel=pixel), expected)


def test_the_last_pixel_counts_where_caffe_counts_it() -> None:
    """Two boxes of 3 and 4 pixels: inclusive sides overlap by 3 / 4, exclusive ones by 2 / 3."""
    boxes, scores = torch.tensor([[0.0, 0, 2, 0], [0, 0, 3, 0]]), torch.tensor([[0.9], [0.8]])

    assert surviving_scores(boxes, scores, threshold=0.7, pixel=1).flatten().tolist() == [scores[0].item(), 0]
    wide = boxes + torch.tensor([0, 0, 0, 1])
    assert surviving_scores(wide, scores, threshold=0.7).flatten().tolist() == scores.flatten().tolist()


@given(
    seed=st.integers(0, 2**32),
    regions=st.integers(0, 25),
    classes=st.integers(1, 6),
    count=st.integers(1, 30),
    levels=st.sampled_from([0, 2, 5]),
)
def test_the_best_regions(seed: int, regions: int, classes: int, count: int, levels: int) -> None:
    """As many as there are up to the number asked for, best first, equal ones in the order given."""
    boxes, scores = random_regions(seed, regions, classes, levels=levels)

    kept, best = best_regions(boxes, scores, count=count)

    assert len(kept) == len(best) == min(count, regions)
    assert len(set(kept.tolist())) == len(kept)
    pairs = list(zip((-best).tolist(), kept.tolist(), strict=True))
    assert pairs == sorted(pairs)
    everything = surviving_scores(boxes, scores, threshold=0.3).amax(1)
    assert torch.equal(everything[kept], best)
    assert not len(kept) or best.min() >= everything.sort(descending=True).values[: len(kept)].min()


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_rows_have_one_shape_and_say_what_is_padding(counts: list[int]) -> None:
    taps = {"boxes": (4,), "features": (3,), "classes": ()}
    frames = [
        {"boxes": torch.ones(n, 4), "features": torch.ones(n, 3), "classes": torch.zeros(n, dtype=torch.int64)}
        for n in counts
    ]

    rows = stack_regions(frames, regions=5, taps=taps)

    assert {name: tuple(tensor.shape[1:]) for name, tensor in rows.items()} == stacked_shapes(taps, regions=5)
    assert rows["count"].tolist() == counts
    real = torch.arange(5) < rows["count"][:, None]  # (B, 5)
    assert torch.equal(rows["classes"] == 0, real)  # class 0 is a class; padding is -1
    assert torch.equal(rows["features"].amax(2), real.float())
    assert torch.equal(rows["boxes"].amax(2), real.float())
