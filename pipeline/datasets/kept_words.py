"""What becomes of captions when they are cut into words: some have none, and some lose letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.core import InputError, named, printable
from pipeline.corpus import tokenize

SHOWN = 3


def require_words(captions: Mapping[str, Sequence[str]]) -> None:
    """Of every video at least one caption has a word."""
    wordless = [id_ for id_, found in captions.items() if not any(map(tokenize, found))]
    if wordless:
        raise InputError(
            f"videos whose captions have no word in a-z or 0-9 ({len(wordless)}): {named(wordless)}",
            hint="captions must be in Latin letters; docs/datasets.md says what a word is",
        )


def told_cut(captions: Mapping[str, Sequence[str]]) -> str:
    """How many captions have words that fall apart, because words are of a-z, and the first of these."""
    cut = [caption for found in captions.values() for caption in found if _other_letters(caption)]
    if not cut:
        return ""
    words = list(dict.fromkeys(word for caption in cut for word in caption.split() if _other_letters(word)))
    shown = ", ".join(f"{printable(word)} becomes {' '.join(tokenize(word)) or 'nothing'}" for word in words[:SHOWN])
    return f"letters besides a-z end a word, in {len(cut)} of {sum(map(len, captions.values()))} captions: {shown}"


def _other_letters(text: str) -> bool:
    return not text.isascii() and any(letter.isalpha() and not letter.isascii() for letter in text.lower())
