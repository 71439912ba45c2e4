"""The Java programs by us and by pycocoevalcap's own wrappers: the same tokens and the same METEOR."""

from __future__ import annotations

import os
import random

import pytest
from pycocoevalcap.meteor.meteor import Meteor as TheirMeteor
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from pipeline.evaluation.tokenizer import tokenize
from pipeline.metrics.java import JavaRuntime
from pipeline.metrics.meteor import Meteor

WORDS = ["a", "man", "men", "dog's", "can't", "running", "ran", "sofa", "couch", "guitar", "日本", "naïve", "—", "3.5"]
ENDS = ["", ".", "!", "?!", "...", " ;", ')"', " - "]


@pytest.fixture
def their_java(java: JavaRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    """They look for it on PATH only."""
    monkeypatch.setenv("PATH", f"{java.path.parent}{os.pathsep}{os.environ['PATH']}")


def random_captions(count: int) -> list[str]:
    """Empty, punctuation only, very long, repeated, and ordinary ones."""
    chance = random.Random(7)
    odd = ["", "...", "?!", '"()"', " ".join(chance.choices(WORDS, k=300)), "dog dog dog dog", "A", "  spaced  out "]
    made = [" ".join(chance.choices(WORDS, k=chance.randint(1, 14))) + chance.choice(ENDS) for _ in range(count)]
    return chance.sample(odd + made, k=len(odd) + count)


def test_the_same_tokens(java: JavaRuntime, their_java: None) -> None:
    captions = random_captions(400)
    theirs = PTBTokenizer().tokenize({str(n): [{"caption": text}] for n, text in enumerate(captions)})

    assert tokenize(captions, java=java) == [theirs[str(n)][0] for n in range(len(captions))]


@pytest.mark.slow
def test_the_same_meteor(meteor: Meteor, java: JavaRuntime, their_java: None) -> None:
    lines = tokenize(random_captions(292), java=java)
    references = {str(n): lines[n : n + 1 + n % 4] for n in range(0, 240, 6)}
    hypotheses = {video: lines[-1 - int(video)] for video in references}
    expected, each = TheirMeteor().compute_score(references, {video: [text] for video, text in hypotheses.items()})

    corpus, found = meteor.score(hypotheses, references)

    assert corpus == pytest.approx(expected, abs=1e-9)
    assert list(found.values()) == pytest.approx(each, abs=1e-9)
