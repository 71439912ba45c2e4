"""A foreign pickle gives arrays or an error; code in it never runs."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pipeline.core.errors import InputError
from pipeline.weights.safe_pickle import read_arrays


@pytest.mark.parametrize("protocol", [3, 4])  # what published files have
def test_trees_of_arrays_come_back(protocol: int) -> None:
    tree = {"params": {"kernel": np.arange(6, dtype=np.float32).reshape(2, 3)}, "list": [np.ones(2)]}

    read = read_arrays(pickle.dumps(tree, protocol), source="x.ckpt")

    np.testing.assert_array_equal(read["params"]["kernel"], tree["params"]["kernel"])
    np.testing.assert_array_equal(read["list"][0], tree["list"][0])


def test_code_is_refused_by_name_before_it_runs(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple:
            return Path.touch, (tmp_path / "exploded",)

    with pytest.raises(InputError, match=r"x\.ckpt is not a pickle of arrays: it names"):
        read_arrays(pickle.dumps(Bomb()), source="x.ckpt")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("data", [b"", b"rubbish", pickle.dumps(np.ones(9))[:-20]])
def test_rubbish_and_cut_files_are_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="not a pickle of arrays"):
        read_arrays(data, source="x.ckpt")


def test_protocol_two_and_python_twos_text_come_back() -> None:
    """Bytes were text in Python 2, and protocol 2 of Python 3 spells them out."""
    array = np.arange(4, dtype=">f4")

    np.testing.assert_array_equal(read_arrays(pickle.dumps({"a": array}, 2), source="x")["a"], array)
    old = pickle.dumps(array, 2).replace(b"c_codecs\nencode\n", b"")  # no longer whole: refused, not run
    with pytest.raises(InputError):
        read_arrays(old, source="x")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i8", "|u1", "|b1"])
def test_every_kind_of_number_comes_back_in_any_order(dtype: str, order: str) -> None:
    array = np.asarray(np.arange(6).reshape(2, 3) % 2, dtype=dtype, order=order)  # type: ignore[call-overload]

    read = read_arrays(pickle.dumps(array, 5), source="x")

    np.testing.assert_array_equal(read, array)
    assert read.dtype.isnative


@pytest.mark.parametrize(
    "poison",
    [
        b"cos\nsystem\n(S'touch exploded'\ntR.",
        b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.",
        b"(S'touch exploded'\nios\nsystem\n.",
        b"cnumpy.core.multiarray\n_reconstruct\n(dS'__code__'\nNsb.",
        b"cnumpy\nndarray\n}S'__setstate__'\nNsb.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"ccollections\nOrderedDict\n(S'x'\ntR.",
        b"\x80\x02\x82\x01.",
        b"Pname\n.",
        b"c__builtin__\ngetattr\n.",
    ],
    ids=[
        "system",
        "eval",
        "inst",
        "function state",
        "class state",
        "numpy.load",
        "call",
        "extension",
        "persistent",
        "py2",
    ],
)
def test_handmade_poison_is_refused(poison: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InputError):
        read_arrays(poison, source="x")
    assert list(tmp_path.iterdir()) == []


def test_arrays_of_objects_in_disguise_are_refused() -> None:
    """Bytes read as an array of objects would be addresses that somebody else chose."""
    honest = pickle.dumps(np.zeros(2, "f8"), 2)

    with pytest.raises(InputError, match="only numbers are read"):
        read_arrays(honest.replace(b"X\x02\x00\x00\x00f8", b"X\x02\x00\x00\x00O8"), source="x")


def test_a_tree_of_shared_branches_does_not_explode() -> None:
    tree: list = [np.ones(1)]
    for _ in range(64):
        tree = [tree, tree]

    read = read_arrays(pickle.dumps(tree), source="x")

    assert read[0] is read[1]


def test_a_tree_that_contains_itself_is_refused() -> None:
    tree: list = []
    tree.append(tree)

    with pytest.raises(InputError):
        read_arrays(pickle.dumps(tree), source="x")


@settings(max_examples=200, deadline=None)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6))
def test_damaged_pickles_give_arrays_or_an_error_and_nothing_else(changes: list[tuple[float, int]]) -> None:
    data = bytearray(pickle.dumps({"a": np.arange(6.0), "b": [np.ones(2, np.float32), (1, "text")]}, 2))
    for place, byte in changes:
        data[int(place * len(data))] = byte

    with contextlib.suppress(InputError):
        read_arrays(bytes(data), source="x")
