"""Consensus decoding: against brute force, with a planted sentence, and with neighbours that know better."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from models.base import Input
from pipeline.captioner.batches import FeatureSource
from pipeline.captioning.chosen_search import _candidates
from pipeline.captioning.closeness import Closeness, bleu_closeness, cider_closeness
from pipeline.captioning.consensus import Consensus, agreement, closest
from pipeline.captioning.nearest_videos import NearestVideos
from pipeline.core.errors import UsageError
from pipeline.corpus import Vocabulary
from pipeline.metrics.bleu import BleuScorer
from pipeline.metrics.cider import CiderScorer, DocumentFrequencies
from pipeline.params.caption import Caption
from pipeline.store import Rows, VideoFeatures, open_store, write_store
from tests.captioner.test_search import Bigrams, tables

WORDS = ["a", "dog", "cat", "runs", "sits", "fast"]
TRAINING = {
    "t1": ["a dog runs", "the dog runs fast"],
    "t2": ["a cat sits", "a cat sits here"],
    "t3": ["a man cooks", "someone cooks fast"],
}
sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
pool = st.lists(sentence, min_size=2, max_size=6)


def cider_of(one: str, other: str) -> float:
    scorer = CiderScorer({"v": [other]}, DocumentFrequencies.of(TRAINING))
    return float(scorer.score_each(["v"], [one])[0])


def bleu_of(one: str, other: str) -> float:
    return float(BleuScorer({"v": [other]}).score_each(["v"], [one])[0, 3])


UTILITIES = {"cider": (cider_closeness(TRAINING), cider_of), "bleu4": (bleu_closeness, bleu_of)}


@pytest.mark.parametrize("utility", UTILITIES)
@settings(max_examples=30, deadline=None)
@given(pools=st.lists(pool, min_size=1, max_size=3), judged=st.booleans())
def test_it_is_what_brute_force_finds(utility: str, pools: list[list[str]], judged: bool) -> None:
    closeness, alike = UTILITIES[utility]
    counted = {f"v{number}": Counter(sentences) for number, sentences in enumerate(pools)}
    judges = {video: [TRAINING["t1"]] for video in counted} if judged else None

    found = closest(counted, closeness, judges=judges)

    for video, sentences in zip(counted, pools, strict=True):
        scores = []
        for place, one in enumerate(sentences):
            score = np.mean([alike(one, other) for rest, other in enumerate(sentences) if rest != place])
            scores.append(score + (np.mean([alike(one, text) for text in TRAINING["t1"]]) if judged else 0.0))
        # Equally good ones differ in the last digits of either way of adding up.
        assert scores[sentences.index(found[video])] == pytest.approx(max(scores), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(said=pool, judges=st.lists(pool, min_size=1, max_size=3), weight=st.sampled_from([0.5, 4.0]))
def test_whoever_lends_a_candidate_does_not_judge_it(said: list[str], judges: list[list[str]], weight: float) -> None:
    new = {sentence: place for place, captions in enumerate(judges) for sentence in captions if sentence not in said}
    lent = {("v", sentence): place for sentence, place in new.items()}

    found = agreement({"v": Counter(said)}, UTILITIES["cider"][0], judges={"v": judges}, weight=weight, lent=lent)["v"]

    assert found.keys() == {*said, *new}
    for one, score in found.items():
        others = [other for place, other in enumerate(said) if place != (said.index(one) if one in said else None)]
        texts = [text for place, captions in enumerate(judges) if place != new.get(one) for text in captions]
        judged = np.mean([cider_of(one, text) for text in texts]) if texts else 0.0
        assert score == pytest.approx(np.mean([cider_of(one, other) for other in others]) + weight * judged, abs=1e-6)


def test_neighbours_lend_what_the_model_could_have_said() -> None:
    """Two captions each: words that it knows, not too many of them, and none that it said itself."""
    vocabulary = Vocabulary.build(["a dog runs", "a cat sits", "the cat"])
    search = Consensus(lambda *_: [], UTILITIES["cider"][0], vocabulary, lend=2, max_words=3)
    judges = {"v": [["a dog", "a zebra", "a dog runs", "a dog", "the dog", "cat"], ["a dog runs", "a cat a cat", ""]]}

    assert search._lent({"v": Counter(["a dog"])}, judges) == {("v", "a dog runs"): 0, ("v", "the dog"): 0}


@pytest.mark.parametrize("utility", UTILITIES)
def test_a_planted_sentence_is_found_among_outliers(utility: str) -> None:
    """The likeliest single sentence is not what the others mean."""
    pool = ["a cat sits here", "a dog runs fast", "a dog runs", "the dog runs fast", "a dog runs fast now"]

    assert closest({"v": Counter(pool)}, UTILITIES[utility][0])["v"] in ("a dog runs fast", "a dog runs")


def test_judges_break_the_tie_and_a_video_without_any_goes_without() -> None:
    pools = {video: Counter(["a dog runs", "a cat sits"]) for video in ("near dogs", "near cats", "alone")}
    judges = {"near dogs": [TRAINING["t1"]], "near cats": [TRAINING["t2"]], "alone": []}

    found = closest(pools, cider_closeness(TRAINING), judges=judges)

    assert found == {"near dogs": "a dog runs", "near cats": "a cat sits", "alone": "a dog runs"}


def test_the_judges_weigh_what_they_are_asked_to() -> None:
    """Two candidates for the cat, judges for the dog: the more weight, the more the judges are heard."""
    pools, judges = {"v": Counter({"a cat sits": 2, "a dog runs": 1})}, {"v": [TRAINING["t1"]]}

    found = [closest(pools, cider_closeness(TRAINING), judges=judges, weight=weight)["v"] for weight in (0.01, 10.0)]

    assert found == ["a cat sits", "a dog runs"]


def test_one_candidate_wins_and_an_empty_one_does_no_harm() -> None:
    closeness: Closeness = cider_closeness(TRAINING)

    assert closest({"v": Counter(["a dog runs"] * 5)}, closeness) == {"v": "a dog runs"}
    assert closest({"v": Counter(["", "", "a dog runs", "a dog sits"])}, closeness)["v"].startswith("a dog")
    assert closest({"v": Counter(["", "", "a cat sits"])}, closeness) == {"v": "a cat sits"}
    assert closest({"v": Counter([""])}, closeness) == {"v": ""}


@pytest.fixture
def source(tmp_path: Path) -> FeatureSource:
    """Videos on a quarter circle, `v0` to `v9`, of one to three rows; the padding must not count."""
    features = {}
    for number in range(10):
        angle = number / 9 * np.pi / 2
        vectors = np.tile([np.cos(angle), np.sin(angle)], (1 + number % 3, 1)).astype(np.float32)
        frames = np.arange(len(vectors), dtype=np.int64)
        rows = Rows(first_frame=frames, last_frame=frames, start=frames * 1.0, end=frames + 1.0, valid=frames * 0 + 1)
        features[f"v{number}"] = VideoFeatures(tensors={"pool": vectors}, rows=rows)
    write_store(tmp_path / "toy", features, fingerprint={"weights": "random"})
    return FeatureSource({"appearance": open_store(tmp_path / "toy")}, {"frames": Input("appearance", "pool")})


def test_neighbours_are_the_nearest_training_videos_and_never_itself(source: FeatureSource) -> None:
    captions = {f"v{number}": [f"training {number}"] for number in range(6)} | {"not in the store": ["x"]}
    near = NearestVideos(source, source, "appearance", captions, 2)

    assert near.neighbours(["v9", "v2"]) == [["v5", "v4"], ["v1", "v3"]]
    assert near(["v9"]) == {"v9": [["training 5"], ["training 4"]]}
    assert NearestVideos(source, source, "appearance", {"v2": ["x"]}, 3).neighbours(["v2", "v3"]) == [[], ["v2"]]


def test_a_slot_that_the_run_does_not_read_is_told(source: FeatureSource) -> None:
    with pytest.raises(
        UsageError, match="neighbours_by is 'motion', which the run does not read; it reads: appearance"
    ):
        NearestVideos(source, source, "motion", {"v1": ["x"]}, 1).neighbours(["v2"])


@pytest.mark.parametrize("kind", ["sample", "beam"])
def test_candidates_of_every_kind_are_drawn(kind: Literal["sample", "beam"]) -> None:
    params, videos = Caption(search="consensus", consensus_of=kind, beam=3, samples=4, max_words=5), ["v0", "v1"]

    with torch.inference_mode():
        found = _candidates(params)(Bigrams(), Bigrams().encode(tables(7, videos=2)), videos)

    assert [len(sentences) <= 4 for sentences in found] == [True, True]
    assert all(words for sentences in found for words in sentences)


def test_where_the_model_says_nothing_the_neighbours_captions_are_the_candidates(source: FeatureSource) -> None:
    """The middle of what they say; and what says something comes before saying nothing."""
    params = Caption(search="consensus", consensus_of="neighbours", neighbours=3, neighbours_lend=1, max_words=5)
    vocabulary = Vocabulary.build(["dog cat runs sits"])
    pools = {"v": Counter(map(vocabulary.decode, _candidates(params)(Bigrams(), {}, ["v"])[0]))}
    judges = {"v": [["dog runs"], ["dog runs fast"], ["cat sits"]]}
    lent = {("v", "dog runs"): 0, ("v", "cat sits"): 2}

    assert closest(pools, UTILITIES["cider"][0], judges=judges, lent=lent) == {"v": "dog runs"}
    assert closest(pools, UTILITIES["cider"][0], judges={"v": []}) == {"v": ""}
    with pytest.raises(ValueError, match="neighbours and neighbours_lend of at least 1"):
        Caption(search="consensus", consensus_of="neighbours", neighbours=3)


def test_only_what_the_search_uses_decides() -> None:
    """The record of a beam search is what it was before there were others."""
    assert Caption(temperature=0.3, samples=7, seed=2).deciding == {
        "beam": 5,
        "max_words": 20,
        "length_power": 0.0,
        "split": "test",
    }
    consensus = Caption(search="consensus")
    assert consensus.deciding == Caption(search="consensus", beam=9, neighbours_by="sound").deciding
    assert consensus.deciding != Caption(search="consensus", samples=41).deciding
    assert consensus.deciding != Caption(search="consensus", neighbours=1).deciding
    near = Caption(search="consensus", neighbours=1)
    assert "neighbours_in" not in near.deciding  # a record of before there was the key is the same
    assert near.deciding != Caption(search="consensus", neighbours=1, neighbours_in="words").deciding
    assert near.deciding != Caption(search="consensus", neighbours=1, neighbours_weight=2).deciding
    assert near.deciding != Caption(search="consensus", neighbours=1, neighbours_lend=2).deciding
    assert consensus.deciding == Caption(search="consensus", neighbours_in="words", neighbours_weight=2).deciding
    beams = Caption(search="consensus", consensus_of="beam")
    assert beams.deciding == Caption(search="consensus", consensus_of="beam", seed=5).deciding != consensus.deciding
    with pytest.raises(ValueError, match="a beam of at least 2"):
        Caption(search="consensus", consensus_of="beam", beam=1)
