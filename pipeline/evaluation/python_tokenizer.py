"""Penn Treebank tokenisation of captions without Java: nearly what the Stanford tokeniser does, and how nearly.

For machines that cannot have a Java runtime. Scores made with it say so, and how far it was off where it was measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pipeline.evaluation.tokenizer import PUNCTUATION

# What was found on real captions; tests/metrics/test_python_tokenizer.py finds it again where they are.
MEASURED = {"on": "MSR-VTT, all 200,000 captions", "captions_that_differ": 2, "scores_differ_by_less_than": 5e-6}

SPLIT_WORDS = {
    "cannot": "can not",
    "gonna": "gon na",
    "gotta": "got ta",
    "wanna": "wan na",
    "gimme": "gim me",
    "lemme": "lem me",
    "'tis": "'t is",
    "'twas": "'t was",
}
ABBREVIATIONS = "mr|mrs|ms|dr|st|no|vs|etc|jr|sr|prof|inc|corp|co|ltd|ave|gen|col|sgt|capt|jan|feb|aug|sept|oct|nov|dec"
BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}

# The first alternative that fits is taken, so the order is the rule.
TOKENS = re.compile(
    rf"""
      (?i:https?://|www\.)[^\s()<>"]+ | \w[\w.+-]*@\w[\w.-]*\b | </?\w+>        # addresses, mark-up
    | [@\#][^\W\d]\w*                                                          # @names
    | (?i:{ABBREVIATIONS})\.(?=\s|$) | (?:[^\W\d_]{{1,2}}\.){{2,}} | (?<!\w)[^\W\d_]\.(?=\s\w)  # mr., u.s., j. b.
    | (?i:{"|".join(SPLIT_WORDS)})\b | [cC](?:\+\+|\#) | [A-Z]+&[A-Z]+\b | '[nN]' | '[cC]ause\b  # gon na, C++, R&B, 'n'
    | \w+?(?=[nN]'[tT]\b) | [nN]'[tT]\b | '(?i:s|m|d|re|ve|ll)\b | '\d0s\b       # do n't, it 's
    | (?<!\w)[+-]?\d+(?:[.,:]\d+)*(?![\w/-]) | (?<!\w)[+-]?\.\d+\b              # 3.5, -1,000, 10:30
    | (?i:o'|d'|ma')\w+ | [yY]'(?=[aA]ll) | \w+(?:[-/]\w+)*                     # o'clock, well-known, his/her
    | [!?]{{2,}} | \*+ | \.\.+ | --+ | ``|'' | [^\w\s]
    """,
    re.VERBOSE,
)


def tokenize(captions: Sequence[str]) -> list[str]:
    """Lower-case words joined by single spaces, one string per caption."""
    return [" ".join(_words(caption)) for caption in captions]


def _words(caption: str) -> list[str]:
    straight = caption.replace("’", "'").replace("‘", "`").replace("“", "``").replace("”", "''").replace("—", "--")
    found = (_as_printed(token.lower()) for token in TOKENS.findall(straight))
    return [word for words in found for word in words.split() if word not in PUNCTUATION]


def _as_printed(word: str) -> str:
    if word in SPLIT_WORDS:
        return SPLIT_WORDS[word]
    if word == '"' or word.startswith(("..", "--")):
        return ""
    return BRACKETS.get(word, word)


def difference(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, Any]:
    """How far tokenised captions are from the Stanford tokeniser's."""
    differ = sum(a != b for a, b in zip(ours, theirs, strict=True))
    return {"captions": len(ours), "captions_that_differ": differ, "share": differ / max(1, len(ours))}
