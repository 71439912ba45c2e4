"""What a word is: of Latin letters, as English results are published, or of any alphabet."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal
from unicodedata import category, name, normalize

Words = Literal["latin", "unicode"]
LATIN: Words = "latin"
# Scripts that put no space between words: each of their letters is a word, which needs no dictionary
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
APOSTROPHES = "'\u2019\u02bc"
JOINERS = "\u200c\u200d"  # within words of Persian and of India's languages; they stand for nothing themselves
Part = Literal["letter", "mark", "alone", "joiner", "none"]


def tokenize(caption: str, words: Words = LATIN) -> list[str]:
    """Lower-case words of letters, digits and apostrophes."""
    if words == LATIN:
        return re.sub(r"[^a-z0-9' ]", " ", caption.lower()).split()
    return _words(normalize("NFKC", normalize("NFKC", caption).lower()))


def _words(text: str) -> list[str]:
    found: list[str] = []
    before: Part = "none"
    for char in text:
        part = _part_of(char)
        if part == "alone" or (part == "letter" and before not in ("letter", "mark")):
            found.append("")
        if part == "mark" and before == "none":
            continue  # of no letter
        if part in ("alone", "letter", "mark"):
            found[-1] += "'" if char in APOSTROPHES else char
        before = before if part == "joiner" or (part == "mark" and before == "alone") else part
    return [word for word in found if word.strip("'")]


@cache
def _part_of(char: str) -> Part:
    kind = category(char)[0]
    if char in JOINERS:
        return "joiner"
    if char in APOSTROPHES:
        return "letter"
    if kind in "LN":
        return "alone" if name(char, "").startswith(UNSPACED) else "letter"
    return "mark" if kind == "M" else "none"
