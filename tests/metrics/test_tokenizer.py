"""PTB tokenisation with coco-caption's punctuation filter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from pipeline.evaluation.tokenizer import PUNCTUATION, tokenize
from pipeline.metrics.java import JavaError, JavaRuntime, find_java

from .conftest import FakeJava, patience

CASES = {
    'A man, "running" FAST!': "a man running fast",
    "": "",
    "...": "",
    "   ": "",
    "the dog's can't": "the dog 's ca n't",
    "one\ntwo\r\nthree\u2028four\x85five": "one two three four five",
    "Café naïve 日本語": "café naïve 日本語",
    "a well-known U.S. song - 3.5 stars": "a well-known u.s. song 3.5 stars",
    "he (she) waves": "he -lrb- she -rrb- waves",  # a quirk of the convention that published scores contain
}


def test_known_lines_in_one_call(java: JavaRuntime) -> None:
    assert dict(zip(CASES, tokenize(list(CASES), java=java), strict=True)) == CASES


def test_nothing_needs_no_java(fake_java: FakeJava) -> None:
    assert tokenize([], java=fake_java("exit 1")) == []


@settings(max_examples=8, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=60))
def test_no_caption_shifts_its_neighbours(captions: list[str]) -> None:
    """Whatever a caption contains, the one after it gets its own words."""
    interleaved = [text for caption in captions for text in (caption, "a marker")]

    lines = tokenize(interleaved, java=find_java())

    assert lines[1::2] == ["a marker"] * len(captions)
    assert not {word for line in lines for word in line.split(" ")} & PUNCTUATION


def test_a_lone_surrogate_from_json_is_no_crash(java: JavaRuntime) -> None:
    assert tokenize(["a \ud83d b"], java=java) == ["a b"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("sleep 600", "the PTB tokeniser did not answer within 1 s"),
        ("cat > /dev/null; echo one", "ended with code 0 before it had answered"),
        ("cat > /dev/null; echo one; echo two; echo three", "printed more than it was asked for"),
        ("kill -9 $$", "was killed by SIGKILL"),
    ],
    ids=["hangs", "answers too little", "answers too much", "dies"],
)
def test_a_tokeniser_that_misbehaves(fake_java: FakeJava, script: str, message: str) -> None:
    with pytest.raises(JavaError, match=message):
        tokenize(["one", "two"], java=fake_java(script), timeout=patience(script))
