"""BLEU, ROUGE-L and CIDEr-D against the reference implementation, on anything a captioner may say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from pipeline.metrics.bleu import BleuScorer
from pipeline.metrics.cider import CiderScorer, DocumentFrequencies
from pipeline.metrics.ngrams import NgramIndex
from pipeline.metrics.rouge import RougeScorer

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES

Corpus = tuple[dict[str, str], dict[str, list[str]]]

# Few words, so that n-grams repeat and meet; also captions that are not tidy at all.
WORDS = st.sampled_from(["a", "man", "is", "dog", "the", "日本", "naïve", "😀", "'s"])
TIDY = st.lists(WORDS, max_size=12).map(" ".join)
UNTIDY = st.text(alphabet="ab é\u00a0\t ", max_size=20)
PUNCTUATION = st.text(alphabet=".,;:!?'\"-()…", max_size=8)
ANYTHING = st.text(max_size=15)
CAPTION = TIDY | UNTIDY | PUNCTUATION | ANYTHING | st.just("") | st.just("a " * 150 + "man")


@st.composite
def corpora(draw: st.DrawFn, *, min_videos: int = 1) -> Corpus:
    videos = [str(number) for number in range(draw(st.integers(min_videos, 6)))]
    references = {video: draw(st.lists(CAPTION, min_size=1, max_size=5)) for video in videos}
    return {video: draw(CAPTION) for video in videos}, references


def in_lists(hypotheses: dict[str, str]) -> dict[str, list[str]]:
    return {video: [text] for video, text in hypotheses.items()}


def close(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    return np.allclose(ours, theirs, rtol=0, atol=1e-6)


@settings(deadline=None)
@given(corpora())
def test_bleu_is_the_reference_implementations(corpus: Corpus) -> None:
    hypotheses, references = corpus
    expected, expected_each = Bleu(4).compute_score(references, in_lists(hypotheses), verbose=0)

    found, each = BleuScorer(references).score(hypotheses)

    assert close(found, expected)
    assert list(each) == list(hypotheses)
    assert close(np.array(list(each.values())), np.array(expected_each).T)


@settings(deadline=None)
@given(corpora())
def test_rouge_is_the_reference_implementations(corpus: Corpus) -> None:
    hypotheses, references = corpus
    expected, expected_each = Rouge().compute_score(references, in_lists(hypotheses))

    found, each = RougeScorer(references).score(hypotheses)

    assert close([found], [expected])
    assert close(list(each.values()), expected_each)


@settings(deadline=None)
@given(corpora())
def test_cider_is_the_reference_implementations(corpus: Corpus) -> None:
    hypotheses, references = corpus
    assume(any(text.split() for texts in references.values() for text in texts))  # theirs stops without a word
    expected, expected_each = Cider().compute_score(references, in_lists(hypotheses))

    found, each = CiderScorer(references).score(hypotheses)

    assert close([found], [expected])
    assert close(list(each.values()), expected_each)


@settings(deadline=None)
@given(corpora(min_videos=3))
def test_some_videos_with_the_frequencies_of_all_score_as_among_all(corpus: Corpus) -> None:
    hypotheses, references = corpus
    few = {video: references[video] for video in list(references)[1:]}
    said = {video: hypotheses[video] for video in few}
    _, among_all = CiderScorer(references).score(hypotheses)

    _, alone = CiderScorer(few, DocumentFrequencies.of(references)).score(said)

    assert alone == pytest.approx({video: among_all[video] for video in few}, abs=1e-9)


@settings(deadline=None)
@given(corpora(min_videos=2))
def test_the_order_and_number_of_hypotheses_do_not_matter(corpus: Corpus) -> None:
    hypotheses, references = corpus
    scorer = CiderScorer(references)
    _, each = scorer.score(hypotheses)
    videos = [*reversed(hypotheses), *hypotheses]

    scores = scorer.score_each(videos, [hypotheses[video] for video in videos])

    assert scores.tolist() == pytest.approx([each[video] for video in videos], abs=1e-9)


def test_scoring_leaves_the_scorer_as_it_was() -> None:
    """Words never seen before get numbers for one call only."""
    scorer = CiderScorer(GOLDEN_REFERENCES)
    before = scorer.score(GOLDEN_HYPOTHESES)
    scorer.score({"1": "entirely new words here", "2": "new words here entirely"})

    assert scorer.score(GOLDEN_HYPOTHESES) == before


def test_frequencies_of_another_corpus_change_the_weights() -> None:
    other = {str(number): ["a man is playing a guitar"] for number in range(9)} | {"last": ["a dog"]}

    _, own = CiderScorer(GOLDEN_REFERENCES).score(GOLDEN_HYPOTHESES)
    _, theirs = CiderScorer(GOLDEN_REFERENCES, DocumentFrequencies.of(other)).score(GOLDEN_HYPOTHESES)

    assert theirs["1"] < own["1"]  # what every other video says as well is worth less
    with pytest.raises(ValueError, match="give the references themselves"):
        CiderScorer(NgramIndex(GOLDEN_REFERENCES), DocumentFrequencies.of(other))


def test_one_video_has_no_cider() -> None:
    """With one document every n-gram is in all of them, so that nothing weighs anything."""
    assert CiderScorer({"1": ["a dog runs"]}).score({"1": "a dog runs"}) == (0.0, {"1": 0.0})


def test_no_hypotheses_are_no_crash() -> None:
    references = {"1": ["a dog"], "2": ["a cat"]}

    assert CiderScorer(references).score({}) == (0.0, {})
    assert RougeScorer(references).score({}) == (0.0, {})
    assert BleuScorer(references).score({}) == ([0.0] * 4, {})


def test_frequencies_learn_nothing_from_the_videos_that_are_scored_with_them() -> None:
    frequencies = DocumentFrequencies.of(GOLDEN_REFERENCES)
    few = {video: GOLDEN_REFERENCES[video] for video in list(GOLDEN_HYPOTHESES)[:2]}
    said = {video: GOLDEN_HYPOTHESES[video] for video in few}
    before = CiderScorer(few, frequencies).score(said)

    CiderScorer({"v": ["unheard of words in a row of their own", "unheard of words"]}, frequencies)

    assert CiderScorer(few, frequencies).score(said) == before
    other = DocumentFrequencies.of(GOLDEN_REFERENCES)
    assert frequencies.vocabulary.encode([["unheard", "of"]], learn=False)[1].tolist() == (
        other.vocabulary.encode([["unheard", "of"]], learn=False)[1].tolist()
    )
