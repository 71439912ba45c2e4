"""One time axis: rows of several stores on common seconds, and masks where nothing is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import UsageError
from pipeline.store import Rows, Store, VideoFeatures, align, open_store, rows_of, write_store
from pipeline.store.align import overlaps


def timed(values: list[float], start: list[float], end: list[float]) -> VideoFeatures:
    count = len(values)
    table = Rows(
        first_frame=np.arange(count),
        last_frame=np.arange(count),
        start=np.array(start, float),
        end=np.array(end, float),
        valid=np.ones(count, np.int64),
    )
    return VideoFeatures(tensors={"x": np.array(values, np.float32)[:, None]}, rows=table)


def stored(folder: Path, videos: dict[str, VideoFeatures]) -> Store:
    write_store(folder, videos, fingerprint={})
    return open_store(folder)


def test_a_cell_is_the_mean_of_its_rows_by_shared_seconds(tmp_path: Path) -> None:
    frames = stored(tmp_path / "a", {"v": timed([1, 3, 5], [0, 0.5, 1.0], [0.5, 1.0, 2.0])})
    motion = stored(tmp_path / "b", {"v": timed([10], [0.75], [1.75])})
    both = align({"frames": frames, "motion": motion}, 1.0, video_id="v")

    assert both.edges.tolist() == [0, 1, 2]
    assert both.features["frames"]["x"][:, 0].tolist() == [2, 5]
    assert both.features["motion"]["x"][:, 0].tolist() == [10, 10]
    assert both.mask["motion"].all()

    fine = align({"frames": frames, "motion": motion}, [0.0, 0.25, 0.75, 3.0, 4.0], video_id="v")
    assert fine.features["frames"]["x"][:, 0].tolist() == [1, 2, pytest.approx((0.25 * 3 + 5) / 1.25), 0]
    assert fine.mask["frames"].tolist() == [True, True, True, False]
    assert fine.mask["motion"].tolist() == [False, False, True, False]


def test_a_missing_video_is_a_stated_fact(tmp_path: Path) -> None:
    frames = stored(tmp_path / "a", {"v": timed([1], [0], [1])})
    sound = stored(tmp_path / "b", {"other": timed([1], [0], [1])})
    both = align({"frames": frames, "sound": sound}, 0.5, video_id="v")

    assert len(both) == 2
    assert not both.mask["sound"].any()
    assert both.features["sound"]["x"].shape == (2, 1)


def test_rows_of_unknown_time_are_masked_and_instants_count_where_they_lie(tmp_path: Path) -> None:
    unknown = stored(tmp_path / "a", {"v": VideoFeatures(tensors={"x": np.ones((2, 1))}, rows=rows_of(2))})
    still = stored(tmp_path / "b", {"v": timed([7], [0], [0])})
    both = align({"unknown": unknown, "still": still}, 1.0, video_id="v")

    assert both.mask["unknown"].tolist() == [False]
    assert both.features["still"]["x"].tolist() == [[7.0]]


@pytest.mark.parametrize("grid", [0.0, -1.0, [1.0], [1.0, 1.0], [2.0, 1.0]])
def test_an_impossible_grid_is_refused(tmp_path: Path, grid: float | list[float]) -> None:
    with pytest.raises(UsageError):
        align({"a": stored(tmp_path / "a", {"v": timed([1], [0], [1])})}, grid, video_id="v")


@given(st.lists(st.floats(0.01, 5), min_size=1, max_size=8), st.floats(0.05, 3))
def test_every_second_of_a_row_is_shared_out_exactly(lengths: list[float], step: float) -> None:
    edges = np.concatenate([[0], np.cumsum(lengths)])
    video = timed([0.0] * len(lengths), edges[:-1].tolist(), edges[1:].tolist())
    cells = np.arange(int(np.ceil(edges[-1] / step)) + 2) * step

    np.testing.assert_allclose(overlaps(video.rows, cells).sum(axis=0), lengths, atol=1e-9)
