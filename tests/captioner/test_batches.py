"""What a run gives its model: which inputs, and their rows as padded batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.base import Input
from pipeline.captioner.batches import open_features
from pipeline.core.errors import InputError
from pipeline.params.train import Slots
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


@pytest.mark.parametrize(("videos", "rows"), [(["short"], 1), (["short", "long"], 2)])
def test_videos_too_short_for_any_row_are_one_of_padding(tmp_path: Path, videos: list[str], rows: int) -> None:
    stored = {
        name: VideoFeatures(tensors={"high": np.ones((count, 2, 3), np.float32)}, rows=rows_of(count))
        for name, count in {"short": 0, "long": 2}.items()
    }
    write_store(tmp_path / "levels", stored, fingerprint={})

    values, mask = open_features(SLOTS, {"pool5": Input("motion", "high", axes=(2,))}, folder=tmp_path).batch(videos)[
        "pool5"
    ]

    assert values.shape == (len(videos), rows, 2, 3)
    assert mask[0].tolist() == [False] * rows
    assert values[0].count_nonzero() == 0


def test_rows_of_a_shape_that_the_model_cannot_take_are_told_before_training(tmp_path: Path) -> None:
    tensors = {"grid": np.ones((2, 4, 4, 3), np.float32), "pool": np.ones((2, 3), np.float32)}
    write_store(tmp_path / "levels", {"v0": VideoFeatures(tensors=tensors, rows=rows_of(2))}, fingerprint={})

    told = r"for 'motion' the model reads a vector per row; 'grid' of .*levels has the shape \[4, 4, 3\]"
    with pytest.raises(InputError, match=told) as error:
        open_features(SLOTS, {"motion": Input("motion", "grid")}, folder=tmp_path)
    assert "of this store fit: pool" in str(error.value.hint)


def test_a_tensor_that_the_model_needs_may_not(features: Path) -> None:
    with pytest.raises(InputError, match="reads 'motion', but the run gives it no"):
        open_features(SLOTS, {"pool5": Input("motion", "none")}, folder=features)
