"""Penn Treebank tokenisation by the program that coco-caption uses, and its punctuation filter."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.metrics import TOKENIZER, JavaProcess, JavaRuntime, jar_path

# The brackets are upper case while the tokeniser prints lower case, so `-lrb-` stays: published scores are so.
BRACKETS = frozenset(["-LRB-", "-RRB-", "-LCB-", "-RCB-"])
PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"]) | BRACKETS
TIMEOUT = 120.0  # seconds until the next line; 60,000 captions take about two in all


def tokenize(captions: Sequence[str], *, java: JavaRuntime, timeout: float = TIMEOUT) -> list[str]:
    """Lower-case words joined by single spaces, one string per caption, by one Java process for all of them."""
    if not captions:
        return []
    options = ["edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase", "-encoding", "utf-8"]
    command = [str(java.path), "-cp", str(jar_path(TOKENIZER)), *options]
    with JavaProcess(command, name="the PTB tokeniser", timeout=timeout) as process:
        process.ask([_on_one_line(caption) for caption in captions], last=True)
        lines = [process.answer() for _ in captions]
        process.finish()  # answers out of step with the captions would score the wrong videos
    return [_without_punctuation(line) for line in lines]


def _without_punctuation(line: str) -> str:
    return " ".join(word for word in line.rstrip().split(" ") if word not in PUNCTUATION)


def _on_one_line(caption: str) -> str:
    """The tokeniser ends a line at each of Unicode's line breaks, so a caption may contain none of them."""
    return " ".join(caption.split())
