"""How clips are dealt into folds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from experiments.folds.fold_plan import plan_folds, source_of
from pipeline.core import UsageError


@given(
    sizes=st.lists(st.integers(1, 5), min_size=20, max_size=60),
    folds=st.integers(2, 3),
    seed=st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_every_clip_is_held_out_once_and_films_stay_together(sizes: list[int], folds: int, seed: int) -> None:
    sources = {f"v{film}-{clip}": f"film{film}" for film, size in enumerate(sizes) for clip in range(size)}

    plan = plan_folds(sources, folds=folds, seed=seed)

    assert sorted(clip for fold in plan for clip in fold.held_out) == sorted(sources)
    for fold in plan:
        parts = (fold.train, fold.val, fold.held_out)
        assert all(parts)
        assert sorted(clip for part in parts for clip in part) == sorted(sources)
        films = [{sources[clip] for clip in part} for part in parts]
        assert sum(map(len, films)) == len(sizes)  # no film is in two parts
    counts = [len(fold.held_out) for fold in plan]
    assert max(counts) - min(counts) <= max(sizes)
    backwards = dict(reversed(sources.items()))
    assert plan_folds(backwards, folds=folds, seed=seed) == plan


def test_films_too_large_for_folds_are_refused() -> None:
    sources = {f"v{clip}": "large" if clip < 9 else f"film{clip}" for clip in range(12)}
    with pytest.raises(UsageError, match="allowed: 2 to half of the 4 source films"):
        plan_folds(sources, folds=3, seed=0)
    with pytest.raises(UsageError, match="one film has so many clips that a fold has none to learn from"):
        plan_folds(sources, folds=2, seed=0)


def test_another_seed_deals_otherwise() -> None:
    sources = {f"v{clip}": f"film{clip}" for clip in range(30)}
    assert plan_folds(sources, folds=3, seed=0) != plan_folds(sources, folds=3, seed=1)


def test_the_film_is_read_from_a_name_that_has_one() -> None:
    assert source_of("-_hbPLsZvvo_18_25") == source_of("-_hbPLsZvvo_269_275") == "-_hbPLsZvvo"
    assert source_of("vid12") == "vid12"
