"""Words and their numbers; built from training captions only, so that no test word can leak in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core import DamageError, read_sealed_json, write_sealed_json
from pipeline.corpus.words import LATIN, Words, tokenize

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
PAD, BOS, EOS, UNK = range(4)


def count_words(captions: Iterable[str], words: Words = LATIN) -> dict[str, int]:
    """Most frequent first, equal counts in alphabetical order."""
    counts = Counter(word for caption in captions for word in tokenize(caption, words))
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True)
class Vocabulary:
    words: tuple[str, ...]  # a word's place is its number; the four special words come first
    numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {word: number for number, word in enumerate(self.words)})
        if self.words[: len(SPECIALS)] != SPECIALS or len(self.numbers) != len(self.words):
            raise ValueError(f"a vocabulary begins with {SPECIALS} and names no word twice")

    @classmethod
    def build(cls, training_captions: Iterable[str], *, min_count: int = 1, words: Words = LATIN) -> Vocabulary:
        """The same captions give the same numbers."""
        counts = count_words(training_captions, words)
        return cls(words=(*SPECIALS, *(word for word, count in counts.items() if count >= min_count)))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.numbers

    def encode(self, words: Sequence[str]) -> list[int]:
        """Numbers of the words, then the end mark; unknown words become <unk>."""
        return [*(self.numbers.get(word, UNK) for word in words), EOS]

    def decode(self, numbers: Iterable[int]) -> str:
        """The sentence up to the end mark, without padding and begin marks."""
        words = []
        for number in numbers:
            if number == EOS:
                break
            if number not in (PAD, BOS):
                words.append(self.words[number])
        return " ".join(words)

    def to_json(self) -> dict[str, Any]:
        return {"words": list(self.words)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Vocabulary:
        return cls(words=tuple(value["words"]))


def write_vocabulary(path: Path, vocabulary: Vocabulary) -> None:
    write_sealed_json(path, vocabulary.to_json())


def read_vocabulary(path: Path) -> Vocabulary:
    hint = "make it with `framescribe assemble`"
    record = read_sealed_json(path, hint=hint)
    try:
        return Vocabulary.from_json(record)
    except (ValueError, KeyError, TypeError) as error:
        raise DamageError(f"{path} cannot be read as a vocabulary: {error}", hint=hint) from error
