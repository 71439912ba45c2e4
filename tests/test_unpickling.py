"""A foreign pickle gives arrays or an error; code in it never runs."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import InputError
from pipeline.unpickling import read_arrays


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
