"""Weights before training: the papers' initialisations, and word vectors from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from pipeline.core import InputError
from pipeline.corpus import Vocabulary

UNIFORM = 0.01  # dualAFR: weights from U[-.01, .01]


def initialise(model: nn.Module, rule: str) -> None:
    """`orthogonal`: recurrent matrices. `uniform`: these too, all else from U[-.01, .01], biases zero."""
    if rule == "default":
        return
    for name, parameter in model.named_parameters():
        if is_recurrent(name):
            for block in parameter.data.split(parameter.shape[1]):  # a gate each
                nn.init.orthogonal_(block)
        elif rule == "uniform" and _leaf(name).startswith("bias"):
            nn.init.zeros_(parameter)
        elif rule == "uniform" and parameter.dim() > 1:  # what scales a normalised vector stays 1
            nn.init.uniform_(parameter, -UNIFORM, UNIFORM)


def is_recurrent(name: str) -> bool:
    return _leaf(name).startswith("weight_hh")


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def use_word_vectors(model: nn.Module, vocabulary: Vocabulary, path: Path) -> int:
    """Put the file's vectors into the embedding; how many words of the vocabulary it knew."""
    embedding = _embedding(model, len(vocabulary))
    known = 0
    for word, numbers, where in _read(path, size=embedding.embedding_dim):
        if word in vocabulary:  # of a file of millions
            embedding.weight.data[vocabulary.numbers[word]] = _vector(numbers, where=where)
            known += 1
    if not known:
        raise InputError(f"{path} has none of the vocabulary's words", hint="one word and its numbers a line")
    return known


def _embedding(model: nn.Module, words: int) -> nn.Embedding:
    return next(each for each in model.modules() if isinstance(each, nn.Embedding) and each.num_embeddings == words)


def _read(path: Path, *, size: int) -> Iterator[tuple[str, list[str], str]]:
    """Word, numbers and where they stand, in GloVe's and word2vec's text formats.

    The latter begins with a line of two counts. A few of GloVe's words have spaces in them, so only the first line of
    vectors proves their length.
    """
    if not path.is_file():
        raise InputError(f"there are no word vectors at {path}", hint="set word_vectors to a text file, or to ''")
    with path.open(encoding="utf-8") as lines:
        proven = False
        for number, line in enumerate(_text(lines, path), 1):
            parts = line.rstrip().split(" ")
            if number == 1 and len(parts) == 2:
                continue
            if len(parts) <= size or (not proven and len(parts) != size + 1):
                raise InputError(f"{path}, line {number}: {len(parts) - 1} numbers, the model's words have {size}")
            proven = True
            yield " ".join(parts[:-size]), parts[-size:], f"{path}, line {number}"


def _text(lines: Iterable[str], path: Path) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeDecodeError as error:
        hint = "word2vec's own .bin, and packed files, must be made into text first: one word and its numbers a line"
        raise InputError(f"{path} is not a text file: {error}", hint=hint) from error


def _vector(numbers: list[str], *, where: str) -> Tensor:
    try:
        vector = torch.tensor([float(text) for text in numbers])
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error
    if not vector.isfinite().all():
        wrong = next(text for text, finite in zip(numbers, vector.isfinite().tolist(), strict=True) if not finite)
        raise InputError(f"{where}: '{wrong}' is not a finite number", hint="remove the line; its word is then learnt")
    return vector
