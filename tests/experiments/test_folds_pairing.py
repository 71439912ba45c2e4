"""The paired test on planted scores: it sees a difference that is there, and seldom one that is not."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.folds.pairing import Deal, System, compared, scores_of
from pipeline.evaluation import Statistics

CLIPS, FILMS, FOLDS, SEEDS = 90, 60, 3, 3
DEAL = Deal(films=np.arange(CLIPS) % FILMS, folds=np.arange(CLIPS) % FILMS % FOLDS)


def system(values: np.ndarray) -> System:
    """From (seeds, clips) CIDEr-D."""
    clips = [f"v{clip}" for clip in range(CLIPS)]
    return {
        f"{seed}": Statistics(clips, np.ones((CLIPS, 10)), None, {"CIDEr-D": row}) for seed, row in enumerate(values)
    }


def two_systems(
    random: np.random.Generator, *, better: float = 0.0, of_models: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """(seeds, clips) each: what is hard is so for both, and what a model got by chance all its clips have."""
    hard = 0.6 + random.normal(0, 0.4, FILMS)[DEAL.films]
    models = random.normal(0, of_models, (2, SEEDS, FOLDS))[:, :, DEAL.folds]
    first, second = hard + models + random.normal(0, 0.2, (2, SEEDS, CLIPS))
    return first, second + better


def test_a_planted_difference_is_seen() -> None:
    first, second = two_systems(np.random.default_rng(0), better=0.1)
    gap = compared(system(first), system(second), DEAL)["CIDEr-D"]

    assert gap.p < 0.01
    assert 0 < gap.low < 0.1 < gap.high
    assert gap.difference == pytest.approx(0.1, abs=0.04)


def test_where_there_is_none_it_is_seldom_seen() -> None:
    """What differs by the chance of training alone: a test that took the models as they are would call it better."""
    random = np.random.default_rng(1)
    pairs = [two_systems(random, of_models=0.15) for _ in range(60)]

    seen = sum(p_of(system(first), system(second)) < 0.05 for first, second in pairs)
    naive = sum(p_of(system(first.mean(0)[None]), system(second.mean(0)[None])) < 0.05 for first, second in pairs)

    assert seen <= 7 < 20 < naive


def p_of(first: System, second: System) -> float:
    return compared(first, second, DEAL, resamples=200)["CIDEr-D"].p


def test_what_two_decodings_of_one_model_share_cancels() -> None:
    wild, _ = two_systems(np.random.default_rng(2), of_models=1.0)
    gap = compared(system(wild), system(wild + 0.05), DEAL)["CIDEr-D"]

    assert gap.low == pytest.approx(gap.high) == pytest.approx(0.05)


def test_systems_of_unlike_seeds_are_compared_by_clips() -> None:
    values, _ = two_systems(np.random.default_rng(3), of_models=0.3)
    one = {"together": system(values.mean(0)[None] + 1)["0"]}

    gap = compared(system(values), one, DEAL)["CIDEr-D"]

    assert gap.difference == pytest.approx(1.0)
    assert gap.p < 0.01


def test_the_interval_of_seeds_is_that_of_their_mean() -> None:
    """All clips alike, so that only models vary: the spread of a mean of three folds of three seeds."""
    models = np.random.default_rng(4).normal(0, 1, (3, FOLDS))
    scored = scores_of(system(models[:, DEAL.folds]), DEAL, resamples=4000)["CIDEr-D"]

    deviation = np.sqrt((models.var(0, ddof=1) / 3).sum()) / FOLDS
    assert scored.score == pytest.approx(models.mean())
    assert scored.high - scored.low == pytest.approx(2 * 1.96 * deviation, rel=0.35)
