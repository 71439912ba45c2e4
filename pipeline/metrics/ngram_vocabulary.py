"""N-grams as numbers, exactly and without a Python object for each: an n-gram is its first n-1 words' number and
its last word's, so that three sorted tables of pairs name every 2-, 3- and 4-gram."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_ORDER = 4
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_BITS = 32  # of a 64-bit pair that hold its second number


def pair(first: Ints, second: Ints) -> Ints:
    return (first << _BITS) | second


def unpair(pairs: Ints) -> tuple[Ints, Ints]:
    return pairs >> _BITS, pairs & ((1 << _BITS) - 1)


def sum_by_order(rows_of: Ints, grams: Ints, values: NDArray[Any], *, rows: int) -> Floats:
    """(rows, orders): the values of the 1-grams, 2-grams ... of each row; a gram's number says its order."""
    slots = rows_of * MAX_ORDER + grams % MAX_ORDER
    sums: Floats = np.bincount(slots, values, minlength=rows * MAX_ORDER).astype(np.float64, copy=False)
    return sums.reshape(-1, MAX_ORDER)


class _Words(dict[str, int]):
    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class NgramVocabulary:
    """Numbers for the n-grams of the sentences learnt; others get numbers of their own within one call."""

    def __init__(self) -> None:
        self._words = _Words()
        self._tables = [_Table() for _ in range(MAX_ORDER - 1)]

    def copy(self) -> NgramVocabulary:
        """Arrays are shared: learning puts new ones in their place."""
        other = NgramVocabulary()
        other._words, other._tables = _Words(self._words), [copy.copy(table) for table in self._tables]
        return other

    def encode(self, sentences: Sequence[Sequence[str]], *, learn: bool) -> tuple[Ints, Ints]:
        """(sentence, gram) of every n-gram of every sentence, repeated ones repeated."""
        words = self._words if learn else _Words(self._words)
        flat = np.fromiter(map(words.__getitem__, chain.from_iterable(sentences)), dtype=np.int64)
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        sentence = np.repeat(np.arange(len(lengths)), lengths)  # (words,)
        remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(flat))  # words to the sentence's end
        where, grams, numbers = [sentence], [flat * MAX_ORDER], flat.copy()
        for step, table in enumerate(self._tables, start=1):
            start = np.flatnonzero(remaining > step)
            numbers[start] = table.number(pair(numbers[start], flat[start + step]), learn=learn)
            where.append(sentence[start])
            grams.append(numbers[start] * MAX_ORDER + step)
        return np.concatenate(where), np.concatenate(grams)


class _Table:
    """Numbers of pairs: those learnt first are smaller, so that learning more changes none."""

    def __init__(self) -> None:
        self._pairs = np.empty(0, dtype=np.int64)  # sorted
        self._numbers = np.empty(0, dtype=np.int64)

    def number(self, pairs: Ints, *, learn: bool) -> Ints:
        numbers, known = self._look_up(pairs)
        fresh, which = np.unique(pairs[~known], return_inverse=True)
        numbers[~known] = len(self._pairs) + which
        if learn:
            self._add(fresh)
        return numbers

    def _look_up(self, pairs: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        if not len(self._pairs):
            return np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self._pairs, pairs), len(self._pairs) - 1)
        return self._numbers[places], self._pairs[places] == pairs

    def _add(self, fresh: Ints) -> None:
        pairs = np.concatenate([self._pairs, fresh])
        by_pair = np.argsort(pairs, kind="stable")
        self._pairs, self._numbers = pairs[by_pair], by_pair
