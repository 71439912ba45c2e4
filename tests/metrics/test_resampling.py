"""The draws behind intervals and p values: what they are made of, and their defaults."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.core.metric_names import FEWEST_VIDEOS
from pipeline.evaluation import bootstrap
from pipeline.evaluation.bootstrap import compare, intervals, spread
from pipeline.evaluation.statistics import Statistics

from .test_bootstrap import made


def test_a_thousand_resamples_of_seed_zero_unless_told() -> None:
    one, two = made(30, seed=1), made(30, seed=2)

    assert intervals(one) == intervals(one, resamples=1000, seed=0)
    assert compare([one], [two]) == compare([one], [two], resamples=1000, seed=0)
    assert bootstrap.LEVEL == 0.95


def test_twenty_videos_are_enough_for_an_interval_and_nineteen_are_not() -> None:
    assert FEWEST_VIDEOS == 20
    assert set(intervals(made(20, seed=0), resamples=9)) == {"BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "CIDEr-D"}
    assert intervals(made(19, seed=0), resamples=9) == {}


def test_twenty_videos_are_enough_for_a_comparison_and_nineteen_are_not() -> None:
    enough = compare([made(20, seed=1)], [made(20, seed=2)], resamples=9)["CIDEr-D"]
    few = compare([made(19, seed=1)], [made(19, seed=2)], resamples=9)["CIDEr-D"]

    assert None not in (enough.interval, enough.p_bootstrap, enough.p_permutation)
    assert (few.interval, few.p_bootstrap, few.p_permutation) == (None, None, None)
    assert few.difference == pytest.approx(few.second - few.first)


def test_intervals_of_fewer_videos_hold_less_than_they_promise() -> None:
    """What the smallest number rests on: how often the middle 95 % of the draws holds the mean of uneven scores."""
    random = np.random.default_rng(0)

    def held(videos: int) -> float:
        (times,) = bootstrap._draws(videos, resamples=500, seed=0)
        samples = random.exponential(size=(2000, videos))
        low, high = np.quantile(samples @ times.T / videos, [0.025, 0.975], axis=1)  # (2000,) each
        return float(np.mean((low <= 1) & (high >= 1)))

    assert held(3) < 0.75
    assert held(10) < 0.89
    assert 0.89 < held(FEWEST_VIDEOS) < 0.95


def test_a_resample_draws_as_many_videos_as_there_are_with_replacement() -> None:
    (drawn,) = bootstrap._draws(6, resamples=5000, seed=0)

    assert drawn.shape == (5000, 6)
    assert (drawn.sum(axis=1) == 6).all()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(6), abs=0.05)
    assert drawn.var() == pytest.approx(5 / 6, abs=0.05)  # of a binomial distribution: 6 draws, each a sixth


def test_a_toss_stays_or_leaves() -> None:
    (tossed,) = bootstrap._tosses(6, resamples=5000, seed=0)

    assert tossed.shape == (5000, 6)
    assert np.unique(tossed).tolist() == [0.0, 1.0]
    assert tossed.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("resamples", "videos", "sizes"), [(10, 50, [7, 3]), (14, 50, [7, 7]), (3, 351, [1, 1, 1]), (3, 350, [1, 1, 1])]
)
def test_no_block_holds_more_numbers_than_are_allowed_at_once(
    monkeypatch: pytest.MonkeyPatch, resamples: int, videos: int, sizes: list[int]
) -> None:
    monkeypatch.setattr(bootstrap, "BLOCK", 350)

    assert list(bootstrap._blocks(resamples, videos)) == sizes


@pytest.mark.parametrize(
    ("gaps", "sign", "size"),
    [
        ([1.0, 2.0, 3.0], 2 / 4, 3 / 4),  # never the other sign; as large as 2: two of three
        ([-1.0, 2.0, 3.0], 4 / 4, 3 / 4),
        ([-2.0, 1.0, 1.0], 4 / 4, 2 / 4),
        ([0.0, 5.0, 6.0], 4 / 4, 3 / 4),
        ([0.0, 0.0, 0.0], 1.0, 1 / 4),
        ([-5.0, -6.0, -1.0], 2 / 4, 3 / 4),
    ],
)
def test_p_values_by_hand(gaps: list[float], sign: float, size: float) -> None:
    assert bootstrap._p_of_sign(np.array(gaps)) == pytest.approx(sign)
    assert bootstrap._p_of_size(np.array(gaps), 2.0) == pytest.approx(size)
    assert bootstrap._p_of_size(np.array(gaps), -2.0) == pytest.approx(size)


def test_a_difference_is_second_minus_first_everywhere() -> None:
    low, high = made(40, seed=1), made(40, seed=1)
    high = Statistics(high.videos, high.bleu, None, {"CIDEr-D": low.means["CIDEr-D"] + 0.25})

    up, down = compare([low], [high], resamples=50)["CIDEr-D"], compare([high], [low], resamples=50)["CIDEr-D"]

    assert up.interval is not None
    assert down.interval is not None
    assert (up.difference, *up.interval) == pytest.approx((0.25, 0.25, 0.25))
    assert (down.difference, *down.interval) == pytest.approx((-0.25, -0.25, -0.25))
    assert (up.first, up.second) == pytest.approx((low.means["CIDEr-D"].mean(), high.means["CIDEr-D"].mean()))


def test_the_spread_is_that_of_a_sample() -> None:
    assert spread([1.0, 2.0, 4.0]) == pytest.approx((((4 / 3) ** 2 + (1 / 3) ** 2 + (5 / 3) ** 2) / 2) ** 0.5)
    assert spread([1.0, 3.0]) == pytest.approx(2**0.5)
