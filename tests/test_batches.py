"""Which inputs of a model a run gives: a slot or a tensor that says none leaves an optional one out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.base import Input
from pipeline.batches import open_features
from pipeline.errors import InputError
from pipeline.params import Slots
from pipeline.store import VideoFeatures, rows_of, write_store

SLOTS = Slots(motion="levels")


@pytest.fixture
def features(tmp_path: Path) -> Path:
    tensors = {"high": np.ones((2, 3), np.float32)}
    write_store(tmp_path / "levels", {"v0": VideoFeatures(tensors=tensors, rows=rows_of(2))}, fingerprint={})
    return tmp_path


def test_an_optional_tensor_may_be_left_out(features: Path) -> None:
    inputs = {"pool4": Input("motion", "none", optional=True), "pool5": Input("motion", "high", optional=True)}

    source = open_features(SLOTS, inputs, folder=features)

    assert source.sizes == {"pool5": 3}
    assert set(source.batch(["v0"])) == {"pool5"}


def test_a_tensor_that_the_model_needs_may_not(features: Path) -> None:
    with pytest.raises(InputError, match="reads 'motion', but the run gives it no"):
        open_features(SLOTS, {"pool5": Input("motion", "none")}, folder=features)
