"""A reward is the metric's own score of the sentence, times its weight."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

from pipeline.metrics.bleu import BleuScorer
from pipeline.metrics.cider import CiderScorer
from pipeline.metrics.rouge import RougeScorer
from pipeline.training.rewards import Rewards
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


def test_an_end_word_tells_a_whole_sentence_from_half_of_one() -> None:
    weights = {"cider": 1.0, "bleu4": 1.0}
    half = ["a man is playing a"]
    with Rewards(GOLDEN_REFERENCES, weights, end_word=True) as rewards:
        whole, stopped = rewards(["1", "1"], ["a man is playing a guitar", *half])
        cut = rewards(["1"], half, [False])[0]

    plain_whole, plain_half = rewards_of(weights, ["1", "1"], ["a man is playing a guitar", *half])
    assert stopped / whole < plain_half / plain_whole
    assert stopped < cut < whole  # nothing is taken from a sentence that was cut but the end that it lacks


def test_an_end_word_is_one_of_bleus_words_and_none_of_rouges() -> None:
    references = {id_: [f"{text} end" for text in texts] for id_, texts in GOLDEN_REFERENCES.items()}
    expected = BleuScorer(references).score({id_: f"{text} end" for id_, text in GOLDEN_HYPOTHESES.items()})[1]
    with Rewards(GOLDEN_REFERENCES, {"bleu4": 1.0}, end_word=True) as rewards:
        assert rewards(VIDEOS, SENTENCES).tolist() == pytest.approx([expected[id_][3] for id_ in VIDEOS])
    with Rewards(GOLDEN_REFERENCES, {"rouge": 1.0}, end_word=True) as rewards:
        assert rewards(VIDEOS, SENTENCES).tolist() == pytest.approx(rewards_of({"rouge": 1.0}, VIDEOS, SENTENCES))


def test_many_references_are_worth_a_process_of_meteor_for_every_core(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def process(*, java: Any, processes: int) -> AbstractContextManager[None]:
        asked.append(processes)
        return nullcontext()

    monkeypatch.setattr("pipeline.training.rewards.meteor_process", process)
    monkeypatch.setattr("pipeline.training.rewards.find_java", lambda: None)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4))
    many = {f"v{number}": ["a dog runs"] * 20 for number in range(300)}  # 120,000 comparisons an epoch
    for references in (GOLDEN_REFERENCES, many):
        with Rewards(references, {"meteor": 1.0}):
            pass

    assert asked == [1, 4]
