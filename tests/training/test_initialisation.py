"""Weights before training."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import torch
from torch import nn

from pipeline.core.errors import InputError
from pipeline.corpus.vocabulary import SPECIALS, Vocabulary
from pipeline.training.initialisation import UNIFORM, initialise, use_word_vectors

VOCABULARY = Vocabulary((*SPECIALS, "red", "ball", "blue"))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(len(VOCABULARY), 3, padding_idx=0)
        self.reader = nn.LSTM(3, 5)
        self.cell = nn.GRUCell(3, 4)
        self.norm = nn.LayerNorm(4)
        self.read = nn.Linear(4, 2)


@pytest.mark.parametrize("rule", ["orthogonal", "uniform"])
def test_recurrent_matrices_are_orthogonal_gate_by_gate(rule: str) -> None:
    net = Net()
    initialise(net, rule)

    gates = [*net.reader.weight_hh_l0.data.split(5), *net.cell.weight_hh.data.split(4)]
    assert len(gates) == 7
    for gate in gates:
        torch.testing.assert_close(gate @ gate.T, torch.eye(len(gate)), atol=1e-5, rtol=0)


def test_orthogonal_leaves_the_rest_alone() -> None:
    net = Net()
    initialise(net, "orthogonal")

    assert torch.equal(net.read.weight, Net().read.weight)


def test_uniform_is_small_with_zero_biases_and_does_not_silence_normalised_vectors() -> None:
    net = Net()
    initialise(net, "uniform")

    for weights in (net.embed.weight, net.reader.weight_ih_l0, net.read.weight):
        assert 0 < weights.abs().max() <= UNIFORM
    assert net.read.bias.abs().max() == 0
    assert net.reader.bias_hh_l0.abs().max() == 0
    assert torch.equal(net.norm.weight, torch.ones(4))


def test_default_changes_nothing() -> None:
    net, other = Net(), Net()
    initialise(net, "default")

    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), other.parameters(), strict=True))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("counts", ["", "4 3\n"])
def test_word_vectors_fill_the_embedding(tmp_path: Path, counts: str) -> None:
    """GloVe's format, and word2vec's with its line of counts; a few of GloVe's words have spaces."""
    net = Net()
    text = "the 9 9 9\nred 1 2 3\n. . 8 8 8\nball -1 0.5 1e-1\n"
    known = use_word_vectors(net, VOCABULARY, write(tmp_path / "vectors.txt", counts + text))

    assert known == 2
    assert net.embed.weight[4:6].tolist() == [[1.0, 2.0, 3.0], [-1.0, 0.5, pytest.approx(0.1)]]
    assert torch.equal(net.embed.weight[6], Net().embed.weight[6])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("red 1 2\n", r"vectors.txt, line 1: 2 numbers, the model's words have 3"),
        ("red 1 2 3 4\n", r"vectors.txt, line 1: 4 numbers, the model's words have 3"),
        ("red 1 2 3\nball 1 2\n", r"vectors.txt, line 2: 2 numbers, the model's words have 3"),
        ("red 1 2 x\n", r"vectors.txt, line 1: could not convert string to float: 'x'"),
        ("the 1 2 3\nred 1 nan 3\n", r"vectors.txt, line 2: 'nan' is not a finite number"),
        ("red 1 2 -1e39\n", r"vectors.txt, line 1: '-1e39' is not a finite number"),
        ("cat 1 2 3\n", r"vectors.txt has none of the vocabulary's words"),
    ],
)
def test_unusable_word_vectors_say_where(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        use_word_vectors(Net(), VOCABULARY, write(tmp_path / "vectors.txt", text))


def test_word_vectors_in_the_binary_format_are_refused(tmp_path: Path) -> None:
    """As Google's of 2013 are: a line of counts, then each word and its numbers as bytes."""
    path = tmp_path / "vectors.bin"
    path.write_bytes(b"1 3\nred " + struct.pack("<3f", 1.1, -2.2, 3.3) + b"\n")

    with pytest.raises(InputError, match=r"vectors.bin is not a text file") as refused:
        use_word_vectors(Net(), VOCABULARY, path)
    assert "must be made into text first" in str(refused.value.hint)


def test_a_missing_file_of_word_vectors_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no word vectors at"):
        use_word_vectors(Net(), VOCABULARY, tmp_path / "vectors.txt")
