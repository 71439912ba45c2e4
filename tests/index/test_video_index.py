"""The index on disk: same rows, same bytes; and errors that name the file."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import DamageError, InputError
from pipeline.core.hashing import file_sha256
from pipeline.core.sealed_file import write_sealed_json
from pipeline.index.stored_index import LATEST
from pipeline.index.video_index import CONTENT, QuarantineRow, VideoRow, read_index, write_index

ROW = VideoRow(
    id="b",
    path="videos/b.mp4",
    sha256="0" * 64,
    frames=3,
    width=4,
    height=2,
    fps=25.0,
    duration=0.12,
    audio="absent",
    backend="decord",
    warnings=("header-count: the header states 4 frames, 3 were decoded",),
)
OTHER = replace(ROW, id="a", frames=2, warnings=())
TIMES = {"b": np.array([0.0, 0.04, 0.1]), "a": np.array([0.0, 1 / 3])}
BAD = QuarantineRow("c", "videos/c.mp4", "empty", "'videos/c.mp4' has no bytes")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_index(tmp_path, [ROW, OTHER], times=TIMES, quarantined=[BAD])
    index = read_index(tmp_path)
    assert list(index.rows.items()) == [("a", OTHER), ("b", ROW)]
    assert index.quarantined == {"c": BAD}
    assert all(np.array_equal(index.times(video), TIMES[video]) for video in TIMES)
    np.save(tmp_path / "whole.npy", np.concatenate([TIMES["a"], TIMES["b"]]))
    assert (tmp_path / "times.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_the_build_of_a_decoder_is_told_where_there_is_one(tmp_path: Path) -> None:
    built = replace(ROW, backend="torchcodec", build="0.17.0 with FFmpeg 5.1")
    write_index(tmp_path, [built, OTHER], times=TIMES)
    assert list(read_index(tmp_path).rows.values()) == [OTHER, built]
    assert (built.decoder, OTHER.decoder) == ("torchcodec 0.17.0 with FFmpeg 5.1", "decord")
    assert (tmp_path / "index.jsonl").read_text().count('"build"') == 1


def test_order_does_not_change_the_bytes(tmp_path: Path) -> None:
    write_index(tmp_path / "one", [ROW, OTHER], times=TIMES, quarantined=[BAD])
    write_index(tmp_path / "two", [OTHER, ROW], times=dict(reversed(TIMES.items())), quarantined=[BAD])
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_a_name_that_is_not_utf8_survives(tmp_path: Path) -> None:
    odd = replace(ROW, id="\udcff\n'", path="videos/\udcff\n'.mp4")
    write_index(tmp_path, [odd], times={odd.id: TIMES["b"]})
    assert read_index(tmp_path).rows == {odd.id: odd}
    (tmp_path / "index.jsonl").read_bytes().decode("ascii")


def test_an_index_may_be_empty(tmp_path: Path) -> None:
    write_index(tmp_path, [], times={})
    assert read_index(tmp_path).rows == {}


def test_a_missing_index_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"index.jsonl is missing[\s\S]*framescribe decode"):
        read_index(tmp_path)


def seal(folder: Path) -> None:
    """As another version would have left these files."""
    write_sealed_json(folder / "checksums.json", {name: file_sha256(folder / name) for name in CONTENT})


def test_a_row_of_another_version_is_named(tmp_path: Path) -> None:
    write_index(tmp_path, [ROW], times=TIMES)
    (tmp_path / "index.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(DamageError, match=r"index.jsonl is damaged[\s\S]*next: framescribe decode"):
        read_index(tmp_path)
    seal(tmp_path)
    with pytest.raises(InputError, match=r"index.jsonl, line 1 is not a row of the index"):
        read_index(tmp_path)


def test_times_of_another_index_are_refused(tmp_path: Path) -> None:
    write_index(tmp_path, [ROW, OTHER], times=TIMES)
    np.save(tmp_path / "times.npy", np.zeros(7))
    with pytest.raises(DamageError, match=r"times.npy is damaged"):
        read_index(tmp_path)
    seal(tmp_path)
    with pytest.raises(InputError, match=r"holds 7 times, the rows have 5 frames"):
        read_index(tmp_path)


def test_what_a_row_need_not_say_is_nothing(tmp_path: Path) -> None:
    """As in an index that was written before these columns were there."""
    said = VideoRow(
        id="a", path="a.mp4", sha256="00", frames=2, width=4, height=3, fps=25.0, duration=0.08, audio="absent",
        backend="pyav", warnings=(),
    )  # fmt: skip

    assert (said.why, said.lost, said.start) == ("", 0, 0.0)
    assert (said.audio_start, said.audio_end, said.audio_peak) == (0.0, 0.0, 0.0)


def test_times_are_each_videos_own(tmp_path: Path) -> None:
    rows = [
        VideoRow(
            id=name, path=name, sha256="00", frames=frames, width=4, height=3, fps=25.0, duration=1.0, audio="absent",
            backend="pyav", warnings=(),
        )
        for name, frames in {"c": 3, "a": 1, "b": 2}.items()
    ]  # fmt: skip
    times = {"a": np.array([0.0]), "b": np.array([0.0, 0.5]), "c": np.array([0.0, 0.25, 0.75])}
    write_index(tmp_path, rows, times=times)

    index = read_index(tmp_path)

    assert {name: index.times(name).tolist() for name in index.rows} == {
        name: values.tolist() for name, values in times.items()
    }


def test_memory_holds_neither_rows_nor_times(tmp_path: Path) -> None:
    """Of a video an id and where its row lies: a row alone is 600 bytes, the times of 200 frames 1,600."""
    count, times = 4000, np.arange(200) / 25
    rows = [replace(ROW, id=f"video{number:04d}", frames=len(times), warnings=()) for number in range(count)]
    write_index(tmp_path, rows, times={row.id: times for row in rows})
    read_index(tmp_path)  # what is imported with it
    tracemalloc.start()
    try:
        index = read_index(tmp_path)
        assert sum(len(index.times(row.id)) for row in index.rows.values()) == count * len(times)
        assert tracemalloc.get_traced_memory()[1] < 300 * count + 2500 * LATEST
    finally:
        tracemalloc.stop()
    assert dict(index.rows) == {row.id: row for row in rows}


def test_what_was_checked_is_what_is_read(tmp_path: Path) -> None:
    """Another index may be published meanwhile; one that is cut off in place is told."""
    write_index(tmp_path, [ROW, OTHER], times=TIMES)
    index = read_index(tmp_path)
    write_index(tmp_path, [ROW], times={"b": TIMES["b"] + 1})

    assert list(index.rows.values()) == [OTHER, ROW]
    assert np.array_equal(index.times("b"), TIMES["b"])

    again = read_index(tmp_path)
    os.truncate(tmp_path / "times.npy", 130)
    with pytest.raises(DamageError, match=r"times.npy became shorter[\s\S]*framescribe decode"):
        again.times("b")
