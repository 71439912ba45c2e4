"""The self-checking tensor file: other readers can read it, and no changed bit goes unseen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from safetensors import safe_open

from pipeline.core.errors import DamageError, InputError
from pipeline.store.tensor_file import NAMES, PAGE, TensorFile, check_value, spec_of, write_tensors


def write(path: Path, tensors: dict[str, np.ndarray]) -> None:
    write_tensors(path, {key: spec_of(array) for key, array in tensors.items()}, tensors.__getitem__)


def test_safetensors_itself_reads_the_file(tmp_path: Path) -> None:
    tensors = {f"v/{name}": np.arange(6).reshape(2, 3).astype(name) for name in NAMES} | {"v/none": np.empty((0, 7))}
    write(tmp_path / "file", tensors)

    with safe_open(tmp_path / "file", framework="numpy") as judge:
        assert set(judge.keys()) == set(tensors)
        for key, array in tensors.items():
            np.testing.assert_array_equal(judge.get_tensor(key), array)
            np.testing.assert_array_equal(TensorFile(tmp_path / "file")[key], array)
            assert TensorFile(tmp_path / "file")[key].dtype == array.dtype


def test_arrays_are_aligned_views_that_cannot_be_written_to(tmp_path: Path) -> None:
    write(tmp_path / "file", {"half": np.ones(3, np.float16), "double": np.ones(5), "byte": np.ones(1, np.uint8)})
    file = TensorFile(tmp_path / "file")

    for array in file.values():
        assert array.flags.aligned
        assert not array.flags.owndata
        assert not array.flags.writeable
    assert np.shares_memory(file["double"], file["double"])


def test_an_object_array_is_refused() -> None:
    with pytest.raises(InputError, match="an array of object cannot be stored"):
        spec_of(np.array([{}]))


@settings(max_examples=200)
@given(st.integers(1, 3 * PAGE + 100), st.integers(0, 10**9), st.integers(0, 7), st.integers(0, 2**32))
def test_any_flipped_bit_changes_the_check_value(size: int, place: int, bit: int, seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
    before = check_value(data)
    data[place % size] ^= 1 << bit

    assert check_value(data) != before


@settings(max_examples=200)
@given(st.integers(0, 2047), st.integers(0, 2047), st.integers(0, 63), st.integers(0, 2**32))
def test_the_same_bit_of_any_two_words_changes_the_check_value(first: int, second: int, bit: int, seed: int) -> None:
    words = np.random.default_rng(seed).integers(0, 2**63, 2048, np.uint64)
    before = check_value(words)
    words[first] ^= np.uint64(1 << bit)
    words[second] ^= np.uint64(1 << bit)

    assert (check_value(words) != before) == (first != second)


def test_swapped_and_moved_pages_change_the_check_value() -> None:
    pages = np.random.default_rng(0).normal(size=(4, PAGE // 8))

    assert len({check_value(pages[list(order)]) for order in ((0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2))}) == 3
    assert check_value(np.roll(pages, 1)) != check_value(pages)


def test_a_tensor_that_changes_while_it_is_written_is_not_published(tmp_path: Path) -> None:
    spec = {"a": spec_of(np.zeros(3))}

    with pytest.raises(DamageError, match="'a' changed while it was copied"):
        write_tensors(tmp_path / "file", spec, lambda _: np.ones(3))
    assert list(tmp_path.iterdir()) == []
