"""What `store verify` says of stores whose bytes are whole and whose content is not: row tables and descriptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pipeline.core.errors import InputError
from pipeline.store import Rows, VideoFeatures, read_manifest, shard_of, write_store
from pipeline.store.manifest import write_manifest
from pipeline.store_tools.verify_store import _row_complaints, repair, verify
from tests.store.making import features

NAN = float("nan")
TIME, FRAMES, VALID = "goes back in time", "a last frame before the first", "an impossible number of valid frames"
Row = tuple[int, int, float, float, int]  # first frame, last frame, start, end, valid


def table(*rows: Row) -> Rows:
    first, last, start, end, valid = (np.array(column) for column in zip(*rows, strict=True))
    return Rows(first_frame=first, last_frame=last, start=start.astype(float), end=end.astype(float), valid=valid)


def complaints(folder: Path, rows: Rows) -> list[str]:
    video = VideoFeatures(tensors={"pool": np.zeros((len(rows), 2), np.float32)}, rows=rows)
    write_store(folder / "store", {"a": video}, fingerprint={})
    return [problem.what for problem in verify(folder / "store")]


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 3, 0.0, 0.16, 4), (4, 7, 0.16, 0.32, 4)],  # windows side by side
        [(0, 3, 0.0, 0.16, 4), (2, 5, 0.08, 0.24, 4)],  # that overlap
        [(0, 0, 0.0, 0.0, 1)],  # a video of one frame, shown for no time
        [(0, 0, 0.0, 0.04, 1), (0, 0, 0.0, 0.04, 1)],  # a frame that was sampled twice
        [(0, 9, 0.0, 0.4, 5)],  # every second frame
        [(0, 23, 0.0, 0.96, 0)],  # no true sound in it
        [(-1, -1, NAN, NAN, 1), (-1, -1, NAN, NAN, 1)],  # imported: nothing is known
        [(-1, -1, 0.0, 1.0, 7)],  # imported: the seconds are known
        [(5, 8, 0.2, 0.36, 4), (-1, -1, NAN, NAN, 1), (6, 9, 0.24, 0.4, 4)],
    ],
)
def test_tables_that_are_right(tmp_path: Path, rows: list[Row]) -> None:
    assert complaints(tmp_path, table(*rows)) == []


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([(0, 3, 0.16, 0.15, 4)], TIME),
        ([(0, 3, 0.08, 0.2, 4), (0, 3, 0.07, 0.2, 4)], TIME),
        ([(0, 3, 0.08, 0.2, 4), (-1, -1, NAN, 0.1, 1), (0, 3, 0.07, 0.2, 4)], TIME),  # the unknown one hides nothing
        ([(0, 3, 0.08, 0.2, 4), (-1, -1, 0.0, NAN, 1), (0, 3, 0.07, 0.2, 4)], TIME),
        ([(4, 3, 0.0, 0.16, 0)], FRAMES),
        ([(-2, 3, 0.0, 0.16, 4)], FRAMES),
        ([(-2, -2, 0.0, 0.16, 1)], FRAMES),
        ([(0, 3, 0.0, 0.16, -1)], VALID),
        ([(0, 3, 0.0, 0.16, 5)], VALID),
        ([(1, 1, 0.0, 0.16, 2)], VALID),
        ([(-1, -1, 0.0, 0.16, -1)], VALID),
    ],
)
def test_tables_that_are_wrong(tmp_path: Path, rows: list[Row], complaint: str) -> None:
    (found,) = complaints(tmp_path, table((0, 0, 0.0, 0.04, 1), *rows))

    assert complaint in found


@given(st.lists(st.tuples(st.integers(-3, 6), st.integers(-3, 6), st.integers(-2, 8)), min_size=1, max_size=4))
def test_frames_of_a_table_are_right_exactly_as_its_columns_are_explained(rows: list[tuple[int, int, int]]) -> None:
    found = list(_row_complaints(table(*((first, last, 0.0, 1.0, valid) for first, last, valid in rows))))

    ordered = all(-1 <= first <= last for first, last, _ in rows)
    possible = all(valid in range(last - first + 2) if first >= 0 else valid >= 0 for first, last, valid in rows)
    assert any(FRAMES in each for each in found) == (not ordered)
    assert not ordered or any(VALID in each for each in found) == (not possible)


TOGETHER = [name for name in (f"video{number}" for number in range(99)) if shard_of(name) == shard_of("video0")][:2]


def edited(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> list[tuple[str, tuple[str, ...]]]:
    """What is wrong with a store of two videos in one shard whose description was edited and sealed again."""
    write_store(folder, {name: features(0) for name in TOGETHER}, fingerprint={"weights": "random"})
    manifest = read_manifest(folder)
    edit(manifest)
    write_manifest(folder, {name: value for name, value in manifest.items() if name != "checksum"})
    return [(problem.what, problem.videos) for problem in verify(folder)]


@pytest.mark.parametrize(
    ("edit", "what", "videos"),
    [
        (lambda m: m["fingerprint"].update(weights="other"), "fingerprint_sha256 is not that of the fingerprint", []),
        (lambda m: m["failures"].update({TOGETHER[0]: {"reason": "crash"}}), "1 videos are both present", TOGETHER[:1]),
        (lambda m: next(iter(m["shards"].values())).update(sha256="0" * 64), "its sha256 is not the one", TOGETHER),
        (lambda m: next(iter(m["shards"].values())).update(header="0" * 64), "but not the shard that", TOGETHER),
        (lambda m: m["outputs"]["pool"].update(shape=[5]), "pool is (3, 4) float32, store.json says (3, 5)", TOGETHER),
        (lambda m: m["outputs"]["pool"].update(dtype="float16"), "store.json says (3, 4) float16", TOGETHER),
        (lambda m: m["outputs"].update(more={"shape": [], "dtype": "int8"}), "lacks video0/more", TOGETHER),
        (lambda m: m["videos"][TOGETHER[0]].update(rows=2), "pool is (3, 4) float32, store.json", TOGETHER[:1]),
        (lambda m: m["videos"].pop(TOGETHER[0]), "has tensors of no video: ['video0/grid', 'video0/pool', 'video0", []),
    ],
)
def test_a_description_that_does_not_fit_is_told(
    tmp_path: Path, edit: Callable[[dict[str, Any]], Any], what: str, videos: list[str]
) -> None:
    found = edited(tmp_path / "store", edit)

    assert any(what in said for said, _ in found)
    assert {video for _, named in found for video in named} == set(videos)


def test_a_shard_that_the_description_does_not_name_is_told(tmp_path: Path) -> None:
    found = edited(tmp_path / "store", lambda manifest: manifest["shards"].clear())

    assert ("its shards are not those of its videos", ()) in found
    assert ("does not belong to this store", ()) in found


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"valid": np.ones(2, np.int64)}, "rows.valid is (2,) int64, not (3,) int64"),
        ({"valid": np.ones(3, np.int32)}, "rows.valid is (3,) int32, not (3,) int64"),
        ({"start": np.arange(3, dtype=np.float32)}, "rows.start is (3,) float32, not (3,) float64"),
        ({"end": np.arange(3, dtype=np.int64)}, "rows.end is (3,) int64, not (3,) float64"),
        ({"first_frame": np.zeros((3, 1), np.int64)}, "rows.first_frame is (3, 1) int64, not (3,) int64"),
    ],
    ids=["length", "narrow", "half of a number", "whole numbers", "shape"],
)
def test_a_column_of_another_length_type_or_shape_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, np.ndarray], told: str
) -> None:
    right = Rows.columns
    with monkeypatch.context() as patch:  # a writer that makes a mistake
        patch.setattr(Rows, "columns", lambda rows: {**right(rows), **wrong})
        write_store(tmp_path / "store", {"a": features(0)}, fingerprint={})

    (problem,) = verify(tmp_path / "store")
    assert problem.what == told
    assert repair(tmp_path / "store") == ["a"]
    assert verify(tmp_path / "store") == []


@pytest.mark.parametrize("text", ["{}", "[]", '["schema"]', "7", "null", '{"schema": 2}', "not JSON"])
def test_a_description_that_is_none_is_damage(tmp_path: Path, text: str) -> None:
    (tmp_path / "store.json").write_text(text)

    assert [problem.what for problem in verify(tmp_path)] == [
        f"{tmp_path / 'store.json'} is damaged: its checksum does not fit"
    ]


def test_a_description_of_another_time_says_so(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text('{"schema": 1}')

    with pytest.raises(InputError, match="has schema 1; this version reads schema 2"):
        verify(tmp_path)
