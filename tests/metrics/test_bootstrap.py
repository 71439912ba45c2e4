"""Intervals that hold what they promise, and p values that are small only where there is a difference."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.evaluation.bootstrap import compare, intervals, spread
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.evaluation.statistics import Statistics

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES

WORDS = ["a", "man", "dog", "runs", "in", "the", "snow", "plays", "guitar", "red", "ball", "with"]


def made(videos: int, *, seed: int, mean: float = 0.5) -> Statistics:
    random = np.random.default_rng(seed)
    said = np.full((videos, 4), [8, 7, 6, 5])
    right = random.binomial(said, mean)
    lengths = np.full((videos, 2), 8)
    counts = np.column_stack([right, said, lengths]).astype(float)
    return Statistics([str(n) for n in range(videos)], counts, None, {"CIDEr-D": random.normal(mean, 0.2, videos)})


def test_the_interval_of_a_mean_is_the_textbooks() -> None:
    statistics = made(400, seed=1)
    values = statistics.means["CIDEr-D"]
    error = values.std() / np.sqrt(len(values))

    low, high = intervals(statistics)["CIDEr-D"]

    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_a_resample_is_scored_as_a_corpus_of_its_own() -> None:
    """The same draws by hand: sentences put together anew and given to the scorer."""
    copied = {f"{copy}{video}": video for copy in "abcdefg" for video in GOLDEN_REFERENCES}  # 21, enough to tell
    references = {name: GOLDEN_REFERENCES[video] for name, video in copied.items()}
    hypotheses = {name: GOLDEN_HYPOTHESES[video] for name, video in copied.items()}
    statistics = CaptionScorer(references).score(hypotheses).statistics
    random = np.random.default_rng(5)
    drawn = random.integers(21, size=(200, 21))
    by_hand = []
    for rows in drawn:
        videos = [sorted(statistics.videos)[row] for row in rows]
        copies = {f"{n}": references[video] for n, video in enumerate(videos)}
        said = {f"{n}": hypotheses[video] for n, video in enumerate(videos)}
        by_hand.append(CaptionScorer(copies).score(said).corpus["BLEU-2"])

    assert intervals(statistics, resamples=200, seed=5)["BLEU-2"] == pytest.approx(
        tuple(np.quantile(by_hand, [0.025, 0.975])), abs=1e-9
    )


def test_the_seed_decides_and_blocks_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = made(50, seed=2)
    first = intervals(statistics, resamples=100)
    assert intervals(statistics, resamples=100) == first
    assert intervals(statistics, resamples=100, seed=1) != first

    monkeypatch.setattr("pipeline.evaluation.bootstrap.BLOCK", 350)  # seven resamples at a time

    assert intervals(statistics, resamples=100) == first


def test_the_order_of_the_videos_decides_nothing() -> None:
    statistics = made(50, seed=2)

    assert intervals(statistics.subset(statistics.videos[::-1])) == intervals(statistics)


def test_one_video_or_no_resamples_give_no_interval() -> None:
    assert intervals(made(1, seed=0)) == {}
    assert intervals(made(30, seed=0), resamples=0) == {}


def test_a_real_difference_is_found_and_chance_is_not() -> None:
    base = made(300, seed=3)
    better = Statistics(base.videos, base.bleu, None, {"CIDEr-D": base.means["CIDEr-D"] + 0.05})
    noise = Statistics(base.videos, base.bleu, None, {"CIDEr-D": made(300, seed=4).means["CIDEr-D"]})

    found = compare([base], [better])["CIDEr-D"]
    assert found.difference == pytest.approx(0.05)
    assert found.interval == pytest.approx((0.05, 0.05))
    assert (found.p_bootstrap, found.p_permutation) == pytest.approx((2 / 1001, 1 / 1001))

    same = compare([base], [noise])["CIDEr-D"]
    assert same.interval is not None
    assert same.interval[0] < 0 < same.interval[1]
    assert same.p_bootstrap is not None
    assert same.p_bootstrap > 0.05
    assert same.p_permutation is not None
    assert same.p_permutation > 0.05


def test_a_run_against_itself_differs_by_nothing() -> None:
    base = made(40, seed=3)

    for one in compare([base], [base], resamples=50).values():
        assert (one.difference, one.interval, one.p_bootstrap, one.p_permutation) == (0.0, (0.0, 0.0), 1.0, 1.0)


def test_permutation_p_values_are_even_where_nothing_differs() -> None:
    """Of many comparisons of equals about one in ten has p < 0.1."""
    found = [compare([made(30, seed=n)], [made(30, seed=n + 500)], resamples=99)["CIDEr-D"] for n in range(200)]

    share = np.mean([one.p_permutation is not None and one.p_permutation <= 0.1 for one in found])
    assert 0.04 < share < 0.17


def test_seeds_are_averaged_and_their_spread_is_told() -> None:
    one, two = made(100, seed=1), made(100, seed=2)
    other = made(100, seed=3, mean=0.7)

    found = compare([one, two], [other])["BLEU-1"]

    scores = [one.corpus_scores()["BLEU-1"], two.corpus_scores()["BLEU-1"]]
    assert found.first == pytest.approx(np.mean(scores))
    assert found.spread == (pytest.approx(np.std(scores, ddof=1)), None)
    assert found.p_permutation is None  # sentences of two runs cannot be exchanged with those of one
    assert compare([one, two], [other, other])["BLEU-1"].p_permutation == pytest.approx(1 / 1001)
    assert spread([0.5]) is None


def test_only_metrics_that_all_have_are_compared() -> None:
    base = made(10, seed=1)
    more = Statistics(base.videos, base.bleu, None, {**base.means, "SPICE": np.ones(10)})

    assert (
        set(compare([base], [more], resamples=9))
        == set(compare([more], [base], resamples=9))
        == {"BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "CIDEr-D"}
    )
