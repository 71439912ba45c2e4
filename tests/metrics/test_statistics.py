"""Corpus scores from per-video counts: the reference programs' numbers, for any set of videos."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pipeline.evaluation.scorer import CaptionScorer
from pipeline.evaluation.statistics import Statistics

from .test_scorers import Corpus, corpora


def statistics_of(corpus: Corpus) -> tuple[Statistics, dict[str, float]]:
    hypotheses, references = corpus
    scores = CaptionScorer(references).score(hypotheses)
    return scores.statistics, scores.corpus


@settings(deadline=None, max_examples=50)
@given(corpora())
def test_the_sums_give_what_the_scorers_give(corpus: Corpus) -> None:
    statistics, expected = statistics_of(corpus)

    assert statistics.corpus_scores() == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(corpora(min_videos=3), st.data())
def test_a_video_drawn_twice_counts_twice(corpus: Corpus, data: st.DataObject) -> None:
    statistics, _ = statistics_of(corpus)
    drawn = data.draw(st.lists(st.sampled_from(list(statistics.videos)), min_size=1, max_size=8))
    times = np.array([[drawn.count(video) for video in statistics.videos]], dtype=float)

    found = {name: float(values[0]) for name, values in statistics.corpus(times).items()}

    assert found == pytest.approx(statistics.subset(drawn).corpus_scores(), abs=1e-9)


def test_a_missing_value_is_in_no_mean() -> None:
    """SPICE has no score for a kind of thing that neither sentence names."""
    table = Statistics(["a", "b"], np.ones((2, 10)), None, {"SPICE": np.array([np.nan, 0.5])})

    assert table.corpus_scores()["SPICE"] == 0.5
    assert table.subset(["a"]).corpus_scores()["SPICE"] == 0.0
