"""A reward is the metric's own score of the sentence, times its weight."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.metrics.bleu import BleuScorer
from pipeline.metrics.cider import CiderScorer
from pipeline.metrics.rouge import RougeScorer
from pipeline.rewards import Rewards
from tests.metrics.conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES

VIDEOS, SENTENCES = list(GOLDEN_HYPOTHESES), list(GOLDEN_HYPOTHESES.values())


def rewards_of(weights: dict[str, float], videos: list[str], sentences: list[str]) -> list[float]:
    with Rewards(GOLDEN_REFERENCES, weights) as rewards:
        return rewards(videos, sentences).tolist()


def test_the_golden_scores() -> None:
    assert rewards_of({"cider": 1.0}, VIDEOS, SENTENCES) == pytest.approx([4.5810454394, 3.2493969223, 0.1969413408])
    assert rewards_of({"rouge": 1.0}, VIDEOS, SENTENCES) == pytest.approx([1.0, 0.8333333333, 0.1732954545])


def test_each_is_its_metric_and_a_mix_is_their_weighted_sum() -> None:
    cider = CiderScorer(GOLDEN_REFERENCES).score(GOLDEN_HYPOTHESES)[1]
    bleu = BleuScorer(GOLDEN_REFERENCES).score(GOLDEN_HYPOTHESES)[1]
    rouge = RougeScorer(GOLDEN_REFERENCES).score(GOLDEN_HYPOTHESES)[1]

    found = rewards_of({"cider": 1.0, "bleu4": 0.5, "rouge": 2.0, "meteor": 0.0}, VIDEOS, SENTENCES)

    assert found == pytest.approx([cider[id_] + 0.5 * bleu[id_][3] + 2 * rouge[id_] for id_ in VIDEOS])


def test_a_video_may_come_several_times_and_a_sentence_may_be_empty() -> None:
    found = rewards_of({"cider": 1.0, "bleu4": 1.0, "rouge": 1.0}, ["1", "2", "1"], ["a man", "", "a man"])

    assert np.isfinite(found).all()
    assert found[0] == found[2]
    assert found[1] == pytest.approx(0.0, abs=1e-6)


def test_references_are_read_as_the_vocabulary_reads_them() -> None:
    with Rewards({"v": ["A Dog, runs!"], "w": ["the cat sits"]}, {"rouge": 1.0}) as rewards:
        assert rewards(["v"], ["a dog runs"]).tolist() == [1.0]
