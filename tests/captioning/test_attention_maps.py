"""One form for what every model recorded, by models as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from models.base import Captioner, Input
from models.dualafr import DualAfr
from models.g2l import G2l
from models.stats import Stats
from models.transformer import Transformer
from models.vatex_spatial import VatexSpatial
from models.vre import Vre
from pipeline.captioner.batches import FeatureSource
from pipeline.captioning.attention_geometry import AttentionGeometry, shared_geometry
from pipeline.core.errors import DamageError
from pipeline.predictions.attention_maps import read_attention_maps, write_attention_maps
from pipeline.store import Rows, VideoFeatures, open_store, write_store

ROWS = 3


def rows(count: int = ROWS, *, every: int = 4) -> Rows:
    first = np.arange(count) * every
    ends = (first + every) / 10
    return Rows(first_frame=first, last_frame=first + 2, start=first / 10, end=ends, valid=np.ones(count, int))


def source(
    folder: Path, kind: type[Captioner], tensors: Mapping[str, np.ndarray], sampling: Mapping[str, int]
) -> FeatureSource:
    """One store in every slot that the model reads and that has its tensor."""
    features = {"v": VideoFeatures(tensors=tensors, rows=rows(len(next(iter(tensors.values())))))}
    fingerprint = {"weights": "0f" * 32, "preprocessing": {"resize_short_side": 8}, "sampling": {**sampling}}
    write_store(folder / "store", features, fingerprint=fingerprint)
    wanted: dict[str, Input] = {name: each for name, each in kind.inputs.items() if each.tensor in tensors}
    return FeatureSource({each.slot: open_store(folder / "store") for each in wanted.values()}, wanted)


def geometry(
    folder: Path,
    kind: type[Captioner],
    tensors: Mapping[str, np.ndarray],
    *,
    sampling: Mapping[str, int] = MappingProxyType({}),
    **options: object,
) -> AttentionGeometry:
    given = source(folder, kind, tensors, sampling)
    return AttentionGeometry(kind(vocabulary=9, sizes=given.sizes, **options), given)


def test_a_map_for_all_rows_belongs_to_the_frame_that_each_word_chose(tmp_path: Path) -> None:
    found = geometry(tmp_path, Stats, {"grid": np.zeros((ROWS, 2, 2, 5), np.float32)})
    time = np.array([[0.1, 0.2, 0.7], [0.9, 0.1, 0.0]])
    place = np.array([[0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])

    looks = found.attention_maps("v", {"time": time, "place": place, "shared": place[::-1], "view": time[:, :2]})

    assert looks["cell_frames"].tolist() == [9, 1]  # the middle frames of rows 2 and 0
    assert looks["cells"][0].tolist() == [[0, 1], [0, 0]]
    assert looks["shared"][1].tolist() == [[0, 1], [0, 0]]
    np.testing.assert_allclose(looks["times"], [[0, 0.4], [0.4, 0.8], [0.8, 1.2]])
    assert found.facts()["columns"] == {"view": ["ST", "TS"]}
    assert found.facts()["cut"]["place"]["preprocessing"] == {"resize_short_side": 8}


def test_without_a_choice_of_time_places_are_drawn_in_the_middle(tmp_path: Path) -> None:
    found = geometry(tmp_path, Stats, {"grid": np.zeros((ROWS, 2, 2, 5), np.float32)}, branches="st")

    assert found.attention_maps("v", {"place": np.eye(4)[:2]})["cell_frames"].tolist() == [5, 5]


def test_members_that_read_other_boxes_are_not_drawn_on_the_first_ones(tmp_path: Path) -> None:
    tensors = {"pool": np.zeros((ROWS, 5), np.float32), "features": np.zeros((ROWS, 4, 5), np.float32)}
    tensors["boxes"] = np.zeros((ROWS, 4, 4), np.float32)
    one, other = (geometry(tmp_path / name, G2l, tensors) for name in ("one", "other"))
    attention = {"time": np.eye(3), "region": np.full((3, 1, 4), 0.25), "frame": np.eye(3)[:, None]}

    assert shared_geometry([one, one]).hidden == frozenset()
    assert {"time", "regions"} <= shared_geometry([one, one]).attention_maps("v", attention).keys()
    assert shared_geometry([one, other]).attention_maps("v", attention) == {}


def test_rows_at_the_same_times_may_be_of_different_stores(tmp_path: Path) -> None:
    frames = {"pool": np.zeros((ROWS, 5), np.float32)}
    each = [
        geometry(tmp_path / name, Vre, frames, sampling={"every": every})
        for name, every in (("one", 4), ("other", 4), ("sparse", 8))
    ]
    assert "time" in shared_geometry(each[:2]).attention_maps("v", {"time": np.eye(3)})
    assert shared_geometry(each).attention_maps("v", {"time": np.eye(3)}) == {}


def test_layers_with_other_names_are_not_shown_as_the_first_ones(tmp_path: Path) -> None:
    maps = {name: np.zeros((ROWS, 1, 2, 2, 4), np.float32) for name in ("pool3", "pool4", "pool5")}
    low, high = (
        geometry(tmp_path, DualAfr, maps | {"fc7": np.zeros((ROWS, 6), np.float32)}, layers=layers)
        for layers in ("pool3 pool5", "pool4 pool5")
    )
    assert "layer" in shared_geometry([low, low]).attention_maps("v", {"layer": np.eye(2)})
    assert shared_geometry([low, high]).attention_maps("v", {"layer": np.eye(2)}) == {}


def test_a_look_is_told_by_slot_and_by_row(tmp_path: Path) -> None:
    found = geometry(tmp_path, Transformer, {"pool": np.zeros((ROWS, 6), np.float32)}, hidden_size=8, heads=2)
    looks = found.attention_maps("v", {"time": np.eye(2, ROWS), "slot": np.array([[0.1, 0.5, 0.1, 0.3]] * 2)})

    assert found.facts()["columns"] == {"slot": ["nothing", "appearance", "motion", "sound"]}
    assert looks["slot"].tolist() == [[0.1, 0.5, 0.1, 0.3]] * 2
    assert looks["times"].shape == (ROWS, 2)


def test_a_map_a_row_says_when_and_where(tmp_path: Path) -> None:
    """dualAFR: places of all rows in one line; zeros at its end were cut off."""
    levels = {"pool5": np.zeros((ROWS, 1, 2, 2, 4), np.float32), "fc7": np.zeros((ROWS, 6), np.float32)}
    found = geometry(tmp_path, DualAfr, levels, layers="pool5")
    weights = np.array([[0.1, 0.1, 0.1, 0.1, 0.0, 0.6, 0.0, 0.0]])  # of 12

    looks = found.attention_maps("v", {"place": weights, "layer": np.array([[1.0]])})

    np.testing.assert_allclose(looks["time"], [[0.4, 0.6, 0.0]])
    np.testing.assert_allclose(looks["cells"], [[[0.0, 0.6], [0.0, 0.0]]])
    assert looks["cell_frames"].tolist() == [5]
    assert found.facts()["columns"] == {"layer": ["pool5"]}


def test_a_map_with_steps_is_the_sum_over_them(tmp_path: Path) -> None:
    """dualAFR on depths of I3D: two steps a row."""
    levels = {"pool5": np.zeros((ROWS, 2, 1, 2, 4), np.float32), "fc7": np.zeros((ROWS, 6), np.float32)}
    weights = np.array([[0.1, 0.1, 0.0, 0.1, 0.1, 0.0, 0.2, 0.0, 0.0, 0.1, 0.1, 0.2]])  # row by row, step by step

    looks = geometry(tmp_path, DualAfr, levels, layers="pool5").attention_maps("v", {"place": weights})

    np.testing.assert_allclose(looks["time"], [[0.3, 0.3, 0.4]])
    np.testing.assert_allclose(looks["cells"], [[[0.1, 0.3]]])
    assert looks["cell_frames"].tolist() == [9]


def test_regions_belong_to_the_frames_that_were_chosen(tmp_path: Path) -> None:
    boxes = np.arange(ROWS * 2 * 4, dtype=np.float32).reshape(ROWS, 2, 4)
    stored = {"pool": np.zeros((ROWS, 5), np.float32), "features": np.ones((ROWS, 2, 5), np.float32), "boxes": boxes}
    found = geometry(tmp_path, G2l, stored)
    chosen = np.array([[[0, 0, 1], [1, 0, 0]]])  # first row 2, then row 0

    looks = found.attention_maps("v", {"region": np.array([[[0.3, 0.7], [1.0, 0.0]]]), "frame": chosen})

    assert looks["box_rows"].tolist() == [[2, 0]]
    assert looks["box_frames"].tolist() == [1, 5, 9]
    np.testing.assert_array_equal(looks["boxes"], boxes)


@pytest.mark.parametrize(
    ("weights", "row", "expected"),
    [
        (np.array([[0.1, 0.0, 0.2, 0.6, 0.1, 0.0]]), 1, [0.2, 0.6]),  # all regions of all rows in one line
        (np.array([[0.1, 0.2, 0.3, 0.4]]), 1, [0.3, 0.4]),  # the same, its last zeros cut off
        (np.array([[0.1, 0.9]]), 0, [0.1, 0.9]),  # only the first row has objects
    ],
    ids=["whole", "cut", "first"],
)
def test_regions_of_all_rows_are_those_of_the_strongest(
    tmp_path: Path, weights: np.ndarray, row: int, expected: list[float]
) -> None:
    stored = {
        "pool": np.zeros((ROWS, 5), np.float32),
        "features": np.ones((ROWS, 2, 5), np.float32),
        "boxes": np.zeros((ROWS, 2, 4), np.float32),
    }

    looks = geometry(tmp_path, VatexSpatial, stored).attention_maps("v", {"region": weights})

    assert looks["box_rows"].tolist() == [[row]]
    np.testing.assert_allclose(looks["regions"], [[expected]])


def test_regions_without_boxes_cannot_be_drawn(tmp_path: Path) -> None:
    stored = {"pool": np.zeros((ROWS, 5), np.float32), "features": np.ones((ROWS, 2, 5), np.float32)}

    assert geometry(tmp_path, VatexSpatial, stored).attention_maps("v", {"region": np.ones((1, 6)) / 6}) == {}


def test_a_video_without_rows_has_nothing_to_draw(tmp_path: Path) -> None:
    found = geometry(tmp_path, Stats, {"grid": np.zeros((0, 2, 2, 5), np.float32)})
    weights = {"time": np.zeros((2, 0)), "place": np.zeros((2, 4)), "view": np.ones((2, 2)) / 2}

    assert list(found.attention_maps("v", weights)) == ["view"]


def test_the_second_look_is_told_once(tmp_path: Path) -> None:
    found = geometry(tmp_path, Vre, {"pool": np.zeros((ROWS, 5), np.float32)}, hidden_size=4)
    weights = np.array([[0.2, 0.3, 0.5]] * 2)

    assert found.attention_maps("v", {"time": weights, "refocus": weights})["refocus"].tolist() == [0.2, 0.3, 0.5]


def test_what_is_written_is_read_to_half_precision(tmp_path: Path) -> None:
    looks = {"a/b": {"time": np.array([[0.3333, 0.6667]]), "times": np.array([[0.0, 3601.04]], np.float32)}, "c": {}}
    write_attention_maps(tmp_path / "run.safetensors", looks)

    found = read_attention_maps(tmp_path / "run.safetensors")

    assert list(found) == ["a/b"]
    np.testing.assert_allclose(found["a/b"]["time"], looks["a/b"]["time"], atol=2e-4)
    np.testing.assert_array_equal(found["a/b"]["times"], looks["a/b"]["times"])
    assert read_attention_maps(tmp_path / "absent.safetensors") == {}


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.safetensors").write_bytes(b"\xff" * 40)

    with pytest.raises(DamageError, match=r"run\.safetensors has no checksum: it is damaged"):
        read_attention_maps(tmp_path / "run.safetensors")
