"""What becomes of captions when they are cut into words: some have none, and some lose letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.core import InputError, named, printable
from pipeline.corpus import LATIN, Words, tokenize

SHOWN = 3


def require_words(captions: Mapping[str, Sequence[str]], *, words: Words) -> None:
    """Of every video at least one caption has a word."""
    wordless = [id_ for id_, found in captions.items() if not any(tokenize(each, words) for each in found)]
    if not wordless:
        return
    kind = "in a-z or 0-9 " if words == LATIN else ""
    other = "other alphabets than the Latin take `words: unicode` in the section assemble of params.yaml; "
    raise InputError(
        f"videos whose captions have no word {kind}({len(wordless)}): {named(wordless)}",
        hint=f"{other if words == LATIN else ''}docs/datasets.md says what a word is",
    )


def told_cut(captions: Mapping[str, Sequence[str]], *, words: Words) -> str:
    """How many captions have words that fall apart, because words are of a-z, and the first of these."""
    if words != LATIN:
        return ""
    cut = [caption for found in captions.values() for caption in found if _other_letters(caption)]
    if not cut:
        return ""
    broken = list(dict.fromkeys(word for caption in cut for word in caption.split() if _other_letters(word)))
    shown = ", ".join(f"{printable(word)} becomes {' '.join(tokenize(word)) or 'nothing'}" for word in broken[:SHOWN])
    return f"letters besides a-z end a word, in {len(cut)} of {sum(map(len, captions.values()))} captions: {shown}"


def _other_letters(text: str) -> bool:
    return not text.isascii() and any(letter.isalpha() and not letter.isascii() for letter in text.lower())
