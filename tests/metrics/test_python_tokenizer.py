"""Tokens without Java, beside those of the Stanford tokeniser: how many captions differ, and what that costs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pipeline.evaluation.python_tokenizer import MEASURED, difference, tokenize
from pipeline.evaluation.scoring import score
from pipeline.evaluation.tokenizer import PUNCTUATION, tokenize as by_stanford
from pipeline.metrics.java import JavaRuntime

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES
from .test_tokenizer import CASES

MSRVTT = Path(__file__).parents[3] / "shared" / "data" / "msrvtt"
FILES = {
    "test_videodatainfo.json.zip": "test_videodatainfo.json",
    "train_val_annotation.zip": "train_val_videodatainfo.json",
}

# Written for this test: what captions of other data sets hold that MSR-VTT's, which were cleaned, do not.
SAMPLE = """
A man in a blue shirt is playing the guitar.
Two women, one with red hair, are talking to each other.
The boy doesn't want to eat his vegetables!
"Look at me!" shouts a child on a swing.
A chef adds 2.5 cups of flour, then stirs for 10 minutes.
Someone's hand draws a cat's face on a white-board.
It's raining; people can't find shelter, so they're running.
A game between the U.S. and Brazil ends 2-1.
A close-up of a woman's eyes (she wears make-up).
The player scores a 3-pointer at 7:45 p.m.
He won't stop, she'll wait, and I'd rather go home.
A news anchor talks about Dr. King's speech.
A person opens a box... and finds a puppy.
Rows of cars are parked on Main St. near the mall.
A T-shirt costs $15.00 - that is 50% off.
A man and/or woman walks by the sea.
The band plays rock & roll for 20,000 fans.
A kid says: "I'm gonna win this!"
An 8-year-old girl rides her brother's bike.
A singer (in a hat) performs; the crowd cheers.
a dog , a cat , and a bird sit together .
Mr. Bean can't open the door, can he?
They've never seen snow before, have they?
It is 5 o'clock, and the players' bus arrives.
A clip from the 1980s shows old T.V. sets.
A woman slices tomatoes, onions, etc. for a salad.
Who's that? What's he doing there?
A scene from "The Matrix" with Keanu Reeves.
A man—tall and thin—walks slowly.
The #1 song of the week is playing.
People are dancing at a party, 'cause it's New Year's Eve.
The video's title reads: How to fix a flat tire
One man kicks the ball; the goalkeeper dives, but misses it.
""".strip().splitlines()


def test_the_sample_does_not_differ(java: JavaRuntime) -> None:
    captions = [*SAMPLE, *CASES]
    ours, theirs = tokenize(captions), by_stanford(captions, java=java)

    found = difference(ours, theirs)

    assert found["captions"] == len(captions)
    assert found["captions_that_differ"] == 0, [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]


def test_the_difference_is_counted() -> None:
    assert difference(["a", "b c", "d"], ["a", "b", "d"]) == {
        "captions": 3,
        "captions_that_differ": 1,
        "share": pytest.approx(1 / 3),
    }


@given(st.text(max_size=80))
def test_any_text_becomes_words(caption: str) -> None:
    (line,) = tokenize([caption])

    assert line == " ".join(line.split())
    assert not set(line.split()) & PUNCTUATION


def test_a_score_says_how_far_its_tokeniser_is_off(java: JavaRuntime) -> None:
    raw = {video: f"{text.capitalize()}." for video, text in GOLDEN_HYPOTHESES.items()}

    off = score(raw, GOLDEN_REFERENCES, meteor=False, tokenizer="python").provenance["tokenizer_off_by"]["here"]

    assert (off["captions"], off["captions_that_differ"], off["share"]) == (12, 0, 0.0)
    assert off["scores"] == dict.fromkeys(("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D"), 0.0)


def test_without_java_it_says_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMESCRIBE_JAVA", "/nonexistent/java")

    scores = score(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, meteor=False, tokenizer="python")

    assert scores.corpus["CIDEr-D"] == pytest.approx(2.6757945675, abs=1e-6)
    assert scores.provenance["tokenizer_off_by"] == {"measured": MEASURED}
    assert scores.provenance["java"] is None


def msrvtt_captions() -> dict[str, list[str]]:
    captions: dict[str, list[str]] = {}
    for name, member in FILES.items():
        with zipfile.ZipFile(MSRVTT / name) as archive:
            for sentence in json.loads(archive.read(member))["sentences"]:
                captions.setdefault(sentence["video_id"], []).append(sentence["caption"])
    return captions


@pytest.mark.slow
@pytest.mark.skipif(not MSRVTT.is_dir(), reason=f"MSR-VTT's annotations are not in {MSRVTT}")
def test_what_is_said_about_msrvtt_is_so(java: JavaRuntime) -> None:
    captions = msrvtt_captions()
    flat = [text for texts in captions.values() for text in texts]

    found = difference(tokenize(flat), by_stanford(flat, java=java))

    assert (found["captions"], found["captions_that_differ"]) == (200_000, MEASURED["captions_that_differ"])
    test = {video: texts for video, texts in captions.items() if int(video.removeprefix("video")) >= 7010}
    said, known = {v: t[0] for v, t in test.items()}, {v: t[1:] for v, t in test.items()}
    off = score(said, known, meteor=False, tokenizer="python").provenance["tokenizer_off_by"]["here"]["scores"]
    assert max(map(abs, off.values())) < MEASURED["scores_differ_by_less_than"]
