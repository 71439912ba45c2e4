"""How frames are put into batches: which sizes, in which order, and that none is held longer than a row needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from extractors.base import Extractor, Takes
from pipeline.extraction.forward_pass import _Pass, batch_of, forward_all, untold
from pipeline.extraction.sampling import SampledRows, sample
from pipeline.params.extract import Sampling


class Numbers(Extractor):
    """Its feature is the sum of the frame numbers of a row; it remembers how large its batches were."""

    preprocessing: dict[str, Any] = {}  # noqa: RUF012 - a test double

    def __init__(self, takes: Takes = "frames", device: str = "cpu") -> None:
        self.takes, self.device, self.sizes = takes, torch.device(device), list[int]()
        self.outputs = {"sum": ()}

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return torch.tensor(float(frame))

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        self.sizes.append(len(batch))
        return {"sum": batch if self.takes == "frames" else batch.sum(1)}


def rows_of(frames: int, **rule: Any) -> SampledRows:
    return sample(Sampling.model_validate(rule), frames=frames, times=np.arange(frames) / 25)


@pytest.mark.parametrize(
    ("takes", "device", "rows"),
    [
        ("frames", "cpu", 8), ("audio", "cpu", 8), ("clips", "cpu", 1), ("video", "cpu", 1),
        ("frames", "cuda", 64), ("clips", "cuda", 8),
    ],
)  # fmt: skip
def test_rows_per_forward_pass(takes: Takes, device: str, rows: int) -> None:
    assert batch_of(Numbers(takes, device)) == rows


def test_frames_go_eight_at_a_time_and_the_rest_at_the_end_whatever_goes_beside_them() -> None:
    rows = rows_of(21, every=1)
    one, other = Numbers(), Numbers()

    found = forward_all([one, other], (np.asarray(number) for number in rows.needed), rows=rows)

    assert (one.sizes, other.sizes) == ([8, 8, 5], [8, 8, 5])
    assert [each["sum"].tolist() for each in found] == [list(range(21))] * 2


@settings(max_examples=30, deadline=None)
@given(
    frames=st.integers(1, 30), window=st.integers(1, 6), stride=st.integers(1, 8), tail=st.sampled_from(["pad", "loop"])
)
def test_windows_hold_their_frames_and_no_others_are_kept(frames: int, window: int, stride: int, tail: str) -> None:
    rows = rows_of(frames, window=window, stride=stride, tail=tail)
    extractor, waiting = Numbers("clips"), rows.indices.tolist()
    going = _Pass(extractor, rows, untold)
    for number in rows.needed.tolist():
        for batch in going.add(number, np.asarray(number)):
            going.keep({name: found.numpy() for name, found in extractor(batch).items()})
        waiting = [row for row in waiting if max(row) > number]
        needed = min((min(row) for row in waiting[:1]), default=frames)
        assert all(kept >= needed for kept in going.prepared)

    assert going.prepared == {}
    assert going.result()["sum"].tolist() == rows.indices.sum(axis=1).tolist()
