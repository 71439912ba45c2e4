"""The door: known figures, the keys promised, and ids that must agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.evaluation.scoring import score
from pipeline.evaluation.toolkit import MetricSettings, Toolkit
from pipeline.metrics.bleu import BleuScorer
from pipeline.metrics.java import JavaRuntime
from pipeline.metrics.meteor import Meteor

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES

COCO_DEMO = Path(__file__).parents[3] / "shared" / "data" / "metrics"


def test_the_golden_set_to_six_decimals() -> None:
    """Figures of the official Python scorers."""
    scores = score(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, meteor=False, tokenizer="none")

    assert scores.corpus == pytest.approx(
        {
            "BLEU-1": 0.8124999999,
            "BLEU-2": 0.7905694149,
            "BLEU-3": 0.7591472429,
            "BLEU-4": 0.7071067811,
            "ROUGE-L": 0.6688762626,
            "CIDEr-D": 2.6757945675,
        },
        abs=1e-6,
    )
    each = scores.per_video
    assert [each[video]["ROUGE-L"] for video in "123"] == pytest.approx([1.0, 0.8333333333, 0.1732954545], abs=1e-6)
    expected_cider = [4.5810454394, 3.2493969223, 0.1969413408]
    assert [each[video]["CIDEr-D"] for video in "123"] == pytest.approx(expected_cider, abs=1e-6)


@pytest.mark.skipif(not COCO_DEMO.is_dir(), reason=f"coco-caption's demo run is not in {COCO_DEMO}")
def test_the_coco_caption_demo_exactly(meteor: Meteor) -> None:
    hypotheses = {
        id_: texts[0] for id_, texts in json.loads((COCO_DEMO / "coco_fakecap_hyps.json").read_text()).items()
    }
    references = json.loads((COCO_DEMO / "coco_fakecap_refs.json").read_text())

    tools = Toolkit(MetricSettings(), None, meteor, None)
    scores = CaptionScorer(references, tools=tools).score(hypotheses)

    counts = BleuScorer(references).counts(list(hypotheses), list(hypotheses.values())).sum(axis=0)
    assert counts.tolist() == [5732, 2510, 1043, 423, 9893, 8893, 7893, 6893, 9893, 9855]
    assert {name: round(value, 4) for name, value in scores.corpus.items()} == {
        "BLEU-1": 0.5794,
        "BLEU-2": 0.4044,
        "BLEU-3": 0.2785,
        "BLEU-4": 0.1908,
        "METEOR": 0.1953,
        "ROUGE-L": 0.3963,
        "CIDEr-D": 0.5998,
    }
    assert scores.statistics.corpus_scores() == pytest.approx(scores.corpus, abs=1e-9)


def test_raw_sentences_score_as_their_tokens_do_and_say_how(java: JavaRuntime) -> None:
    raw = {video: f"{text.capitalize()}." for video, text in GOLDEN_HYPOTHESES.items()}
    references = {video: [f'"{text.upper()}"!' for text in texts] for video, texts in GOLDEN_REFERENCES.items()}

    scores = score(raw, references, meteor=False)

    tokens = score(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, meteor=False, tokenizer="none")
    assert (scores.corpus, scores.per_video) == (tokens.corpus, tokens.per_video)
    told = scores.provenance | {"references_sha256": "", "references_per_video": {}}
    assert told == {
        "tokenizer": "ptb",
        "jars": {"stanford-corenlp-3.4.1.jar": "2fcb91bb7a111f93d71e264f4ee0e3afd19ba0dde6d21b38605088df9e940399"},
        "java": {"version": java.version, "source": java.source},
        "videos": 3,
        "references": 9,
        "references_per_video": {},
        "references_sha256": "",
    }
    assert scores.provenance["references_per_video"] == {"fewest": 3, "most": 3}
    assert scores.provenance["references_sha256"] != tokens.provenance["references_sha256"]
    assert tokens.provenance["jars"] == {}


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ({"a": "x"}, {"a": ["x"], "b": ["y"]}, r"1 without a sentence \(b\)"),
        (dict.fromkeys("abcdefgh", "x"), {"a": ["x"]}, r"7 without references \(b, c, d, e, f and 2 more\)"),
        ({"a": "x"}, {"b": ["y"]}, r"1 without a sentence \(b\); 1 without references \(a\)"),
        ({"a": "x"}, {"a": []}, r"1 with an empty list of references \(a\)"),
        ({}, {}, "no sentence to score"),
    ],
)
def test_ids_that_do_not_agree_are_named(
    hypotheses: dict[str, str], references: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        score(hypotheses, references, meteor=False, tokenizer="none")
