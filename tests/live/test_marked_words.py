"""What was searched for is marked; what anybody wrote stays text."""

from __future__ import annotations

import pytest

from pipeline.live.marked_words import marked


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("A man rides", ["ma", "rid"], "A <mark>man</mark> <mark>rides</mark>"),
        ("human", ["man"], "human"),
        ("no query", [], "no query"),
        ("<b>man</b>", ["man", "b"], "&lt;<mark>b</mark>&gt;<mark>man</mark>&lt;/<mark>b</mark>&gt;"),
        ("Straße & Schnee", ["strasse"], "<mark>Straße</mark> &amp; Schnee"),
        ("bad \udcff bytes", ["bad"], "<mark>bad</mark> \\xff bytes"),
    ],
)
def test_words_that_begin_so_are_marked(text: str, words: list[str], shown: str) -> None:
    assert str(marked(text, words)) == shown
