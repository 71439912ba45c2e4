"""Nouns and verbs without a tagger: closed lists for what is neither, and the captions' own -ing forms for verbs.

A word is a verb when it ends in -ing (and its stem has a vowel: not *king*), or when its -ing form is in the captions
too (*moves*, *moving*), and no article or adjective stands before it (*a ring*). What is on no list and is no verb is a
noun. This is rough, and the same for all who are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OTHERS = {
    "function": "a an the this that these those some any each every both all another other his her its their our my "
    "your he she it they we you i him them who which what there is are was were be been being am has have had having "
    "do does did can could will would may might must and or but while as if then than so because in on at of to from "
    "with without by for into onto over under up down out off through across around along near behind beside between "
    "above below against towards toward upon inside outside about after before during not no first one two three four "
    "five six several many more most very together again away back closer farther further front just also too next "
    "upwards downwards",
    "verb": "shows show shown lies lie lays seen see sees made done",
    "adjective": "red yellow green blue purple white black brown orange pink grey gray golden big large huge small "
    "little tiny tall short long young old new different same beautiful cute good wet dry hot cold fast slow loud "
    "striped dotted checkered round male female right left upper lower top bottom middle",
    "noun": "something someone anything nothing morning evening ceiling building wedding thing string spring king wing "
    "clothing earring painting drawing wrestling",
}
LISTED = {word: kind for kind, text in OTHERS.items() for word in text.split()}
ARTICLES = frozenset(
    {"a", "an", "the", "this", "that", "his", "her", "its", "their", "some", "another", "two", "three"}
)
CLASSES = ("verb", "noun", "adjective", "function")
SKIPPED, SHOWN = 5, 20  # the paper leaves the most frequent words out, and shows so many of the others


@dataclass(frozen=True)
class Lexicon:
    verbs: frozenset[str]

    @classmethod
    def of(cls, captions: Iterable[str]) -> Lexicon:
        words = {word for caption in captions for word in words_of(caption)}
        forms = {word for word in words - {*LISTED} if word.endswith("ing") and re.search("[aeiouy]", word[:-3])}
        stems = {_stem(form[:-3]) for form in forms}
        return cls(frozenset(forms | {word for word in words - {*LISTED} if _stem(_without_ending(word)) in stems}))

    def classes(self, words: Sequence[str]) -> list[str]:
        found: list[str] = []
        for place, word in enumerate(words):
            named = place > 0 and (words[place - 1] in ARTICLES or found[-1] == "adjective")
            found.append(LISTED.get(word) or ("verb" if word in self.verbs and not named else "noun"))
        return found


def words_of(caption: str) -> list[str]:
    return re.findall(r"[\w'-]+", caption.lower())


def _without_ending(word: str) -> str:
    """moves, moved -> mov; goes -> go."""
    return re.sub(r"(es|ed|s|e)$", "", word) if len(word) > 3 else word


def _stem(word: str) -> str:
    """What moving and mov(es), stopping and stop(s), going and go have in common."""
    word = re.sub(r"e$", "", word)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls" else word


@dataclass(frozen=True)
class WordCounts:
    """Words of one source."""

    name: str
    words: list[tuple[str, str, int]]  # the most frequent verbs and nouns: word, class, how often
    shares: dict[str, float]  # class -> share of all words

    def number(self, kind: str) -> int:
        return sum(each == kind for _, each, _ in self.words)


def count_words(name: str, captions: Iterable[str], lexicon: Lexicon) -> WordCounts:
    """As figure 5 of STaTS: without the five most frequent words, the 20 most frequent verbs and nouns."""
    texts = [words_of(caption) for caption in captions]
    counted = Counter(pair for words in texts for pair in zip(words, lexicon.classes(words), strict=True))
    total = sum(counted.values()) or 1
    shares = dict.fromkeys(CLASSES, 0.0)
    for (_, kind), times in counted.items():
        shares[kind] += times / total
    ranked = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    content = [(word, kind, times) for (word, kind), times in ranked if kind in ("verb", "noun")]
    return WordCounts(name, content[SKIPPED : SKIPPED + SHOWN], shares)
