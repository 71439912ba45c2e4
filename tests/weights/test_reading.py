"""Every layout reads what its publisher wrote, refuses what is cut or unfolds to too much, and runs nothing."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from pipeline.core.errors import InputError
from pipeline.weights import reading
from pipeline.weights.reading import read_published
from tests.weights.layouts import ARRAY, every_layout, npy
from tests.weights.making import Bomb, published


@every_layout
def test_every_layout_comes_back(layout: str, make: Callable[[], bytes], key: str) -> None:
    read = read_published(make(), layout=layout, source="x")

    assert list(read) == [key]
    np.testing.assert_array_equal(np.asarray(read[key]).reshape(ARRAY.shape), ARRAY)


@every_layout
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.98])
def test_cut_files_are_refused(layout: str, make: Callable[[], bytes], key: str, share: float) -> None:
    whole = make()

    with pytest.raises(InputError, match=r"^(a in )?x is not a"):
        read_published(whole[: int(share * len(whole))], layout=layout, source="x")


@pytest.mark.parametrize("layout", ["torch", "arrays", "hdf5", "safetensors", "caffe_blob"])
def test_rubbish_is_refused(layout: str) -> None:
    rubbish = np.random.default_rng(0).integers(0, 256, 4096, dtype=np.uint8).tobytes()

    with pytest.raises(InputError):
        read_published(rubbish, layout=layout, source="x")


def test_an_array_alone_is_an_array() -> None:
    np.testing.assert_array_equal(read_published(npy(ARRAY.T), layout="arrays", source="x"), ARRAY.T)


@pytest.mark.parametrize("carrier", ["torch", "old torch", "pickle", "npy", "npz"])
def test_no_carrier_runs_code(carrier: str, tmp_path: Path) -> None:
    bomb, stream = Bomb(tmp_path / "exploded"), io.BytesIO()
    if carrier.endswith("torch"):
        torch.save(bomb, stream, _use_new_zipfile_serialization=carrier == "torch")
    elif carrier == "pickle":
        pickle.dump(bomb, stream)
    elif carrier == "npy":
        np.save(stream, np.array(bomb, object), allow_pickle=True)
    else:
        np.savez(stream, a=np.array(bomb, object))

    with pytest.raises(InputError, match=r"touch|Path|pathlib|getattr"):
        read_published(stream.getvalue(), layout="torch" if "torch" in carrier else "arrays", source="x")
    assert not (tmp_path / "exploded").exists()


def test_numbers_beside_the_tensors_do_no_harm() -> None:
    """Checkpoints keep an epoch or an accuracy, often as numpy's numbers."""
    data = published({"epoch": 3, "best": np.float64(0.75), "state_dict": {"a": torch.ones(2)}})

    read = read_published(data, layout="torch", source="x")

    assert (read["epoch"], float(read["best"])) == (3, 0.75)


@pytest.mark.parametrize("kind", ["gzip", "npz", "torch"])
def test_what_unfolds_to_too_much_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LIMIT", 2**20)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(2**24))
    data = gzip.compress(bytes(2**24)) if kind == "gzip" else stream.getvalue()
    assert len(data) < 2**16

    with pytest.raises(InputError, match="would unfold to"):
        read_published(data, layout={"gzip": "hdf5", "npz": "arrays"}.get(kind, kind), source="x")


def test_hdf5_that_unfolds_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LIMIT", 2**20)
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file.create_dataset("a", shape=(2**30,), dtype="f4", chunks=(2**16,), compression="gzip")
    assert len(stream.getvalue()) < 2**16

    with pytest.raises(InputError, match="would unfold to"):
        read_published(stream.getvalue(), layout="hdf5", source="x")
