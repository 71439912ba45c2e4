"""One pass over a video: rows come out in order, windows are what sampling says, and a family gets what it takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from extractors.base import Extractor
from pipeline.core.errors import UsageError
from pipeline.extraction import sampling
from pipeline.extraction.build_extractor import extractor_of
from pipeline.extraction.forward_pass import forward
from pipeline.params.extract import Extract, Sampling


class Listing(Extractor):
    """Its features are the numbers of the frames it was given."""

    preprocessing: dict = {}  # noqa: RUF012 - a test double

    def __init__(self, takes: str, window: int) -> None:
        self.takes = takes  # type: ignore[assignment]
        self.outputs = {"numbers": (window,) if takes == "clips" else ()}

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return torch.tensor(float(frame))

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"numbers": batch}


def frames_of(rows: sampling.SampledRows) -> Iterator[np.ndarray]:
    return (np.asarray(number) for number in rows.needed)


@pytest.mark.parametrize("frames", [1, 2, 15, 16, 17, 100])
@pytest.mark.parametrize(
    "rule",
    [
        Sampling(window=16, stride=16, tail="pad"),
        Sampling(window=16, stride=16),
        Sampling(window=8, stride=5, tail="loop"),
        Sampling(window=4, stride=9, tail="pad"),
    ],
)
def test_windows_are_what_sampling_says(frames: int, rule: Sampling) -> None:
    rows = sampling.sample(rule, frames=frames, times=np.arange(frames) / 25)

    found = forward(Listing("clips", rule.window or 0), frames_of(rows), rows=rows)["numbers"]

    np.testing.assert_array_equal(found, rows.indices)


@pytest.mark.parametrize("frames", [1, 2, 15, 16, 17, 100])
@pytest.mark.parametrize("rule", [Sampling(every=5), Sampling(count=20), Sampling(fps=2.0)])
def test_a_frame_may_serve_several_rows(frames: int, rule: Sampling) -> None:
    rows = sampling.sample(rule, frames=frames, times=np.arange(frames) / 25)

    found = forward(Listing("frames", 1), frames_of(rows), rows=rows)["numbers"]

    np.testing.assert_array_equal(found, rows.indices[:, 0])


class Summing(Listing):
    """Takes the whole video and gives a row per `window` frames: their sum."""

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"numbers": torch.stack([part.sum() for part in batch[0].split(16)])}


@pytest.mark.parametrize("frames", [1, 2, 15, 16, 17, 100])
def test_a_whole_video_is_given_at_once_and_without_repeated_frames(frames: int) -> None:
    rule = Sampling(fps=5.0, window=16, stride=16, tail="pad")
    rows = sampling.sample(rule, frames=frames, times=np.arange(frames) / 5)

    found = forward(Summing("video", 16), frames_of(rows), rows=rows)["numbers"]

    expected = [sum(range(row * 16, min(row * 16 + 16, frames))) for row in range(len(rows))]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("family", "rule", "message"),
    [
        ("frames", {"window": 16, "stride": 16}, "'frames' takes frames: its sampling must give every, count or fps"),
        ("i3d", {"every": 5}, "'i3d' takes clips: its sampling must give window and stride"),
        ("c4d", {"every": 5}, "there is no extractor family 'c4d'; known: .*frames, .*i3d"),
    ],
)
def test_sampling_must_fit_the_family(family: str, rule: dict, message: str) -> None:
    params = Extract(family=family, network="x", weights="random", sampling=Sampling(**rule))
    with pytest.raises(UsageError, match=message):
        extractor_of(params, device="cpu")


def test_an_option_the_family_does_not_have_is_refused() -> None:
    params = Extract(
        family="frames", network="squeezenet1_1", weights="random", sampling=Sampling(every=1), options={"sise": 2}
    )
    with pytest.raises(UsageError, match="no option sise"):
        extractor_of(params, device="cpu")
