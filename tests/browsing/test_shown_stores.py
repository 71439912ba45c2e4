"""Stores a page at a time, their rows, and the rows of other videos that are most like one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import pytest

from pipeline.browsing import row_neighbours as nearest
from pipeline.browsing.pages import kept, paged
from pipeline.browsing.row_neighbours import WAITING, content, nearest_rows
from pipeline.browsing.shown_stores import ROWS, VIDEOS, list_stores, store_of, store_videos, video_rows
from pipeline.core.errors import InputError
from pipeline.store import open_store, write_store
from tests.browsing.made_project import features_of, manifest_of, write_toy_store


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("features")
    write_toy_store(folder / "toy")
    return folder


@pytest.mark.parametrize(
    ("page", "at", "first"), [(1, 1, 1), (3, 3, 5), (-4, 1, 1), (0, 1, 1), (10**30, 3, 5)], ids=str
)
def test_a_page_beyond_the_ends_is_the_nearest(page: int, at: int, first: int) -> None:
    shown = paged(range(5), page, size=2)

    assert (shown.page, shown.pages, shown.first, shown.count) == (at, 3, first, 5)
    assert list(shown.items) == list(range(first - 1, min(5, first + 1)))
    assert paged([], 7, size=2).first == 0


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    reads: list[str] = []
    read = kept(lambda path: reads.append(path.read_text()) or len(reads), files=2)
    file = tmp_path / "a"
    file.write_text("one")

    assert (read(file), read(file)) == (1, 1)
    file.write_text("three")
    assert read(file) == 2


def test_the_list_says_what_each_store_holds(features: Path) -> None:
    (line,) = list_stores(features)

    assert (line.name, line.videos, line.failed, line.rows) == ("toy", 30, 1, 180)
    assert line.tensors == ("pool 3 float32",)
    assert line.untrained


def test_a_damaged_store_costs_its_facts_not_the_list(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_toy_store(tmp_path / name, videos=2)
    file = tmp_path / "one/store.json"
    file.write_bytes(file.read_bytes().replace(b"crash", b"crush"))
    one, two = list_stores(tmp_path)

    assert "checksum does not fit" in one.problem
    assert (two.videos, two.problem) == (2, "")


@pytest.mark.parametrize("name", ["..", "../features/toy", "toy/", "/etc", "", "toy\0", "none", "\udcff"])
def test_a_store_is_found_by_its_name_in_the_list_alone(features: Path, name: str) -> None:
    with pytest.raises(InputError, match="there is no store"):
        store_of(name, features)


def test_of_ten_thousand_videos_a_page_is_as_large_as_of_fifty() -> None:
    store = manifest_of(10_000)
    shown = store_videos(store, page=200)

    assert (shown.count, shown.pages, len(shown.items)) == (10_100, 202, VIDEOS)
    assert [video.id for video in store_videos(store, query="O0999").items][:2] == ["video09990", "video09991"]
    assert store_videos(store, state="failed").count == 100
    assert store_videos(store, state="nonsense").count == 0
    assert store_videos(store, state="failed").items[0].failure.startswith("crash: x")


def test_rows_of_a_video_are_beside_the_chosen_one(features: Path) -> None:
    store = store_of("toy", features)
    shown = video_rows(store, "video002", chosen=3)

    assert (shown.output, shown.shape, shown.chosen, shown.length) == ("pool", (3,), 3, 3.0)
    assert [row.start for row in shown.rows.items] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    likeness = [row.likeness or 0.0 for row in shown.rows.items]
    assert likeness[3] == pytest.approx(1)
    assert likeness[0] == pytest.approx(np.cos(0.003), abs=1e-6)
    assert shown.rows.items[0].norm == pytest.approx(3)
    assert [shown.strength(shown.rows.items[number]) for number in (3, 0)] == [1.0, 0.1]
    assert video_rows(store, "video002", output="nonsense", chosen=10**9).chosen == 5


def test_a_video_that_failed_or_is_not_there_says_so(features: Path) -> None:
    store = store_of("toy", features)

    with pytest.raises(InputError, match="it failed"):
        video_rows(store, "broken")
    with pytest.raises(InputError, match="has no video"):
        video_rows(store, "../../etc/passwd")


def test_a_long_video_comes_in_pages_and_at_the_chosen_row(tmp_path: Path) -> None:
    write_store(tmp_path / "long", {"v": features_of(np.eye(3)[np.arange(1000) % 3])}, fingerprint={})
    store = store_of("long", tmp_path)

    assert len(video_rows(store, "v").rows.items) == ROWS
    chosen = video_rows(store, "v", chosen=999)
    assert (chosen.rows.page, chosen.rows.items[-1].number) == (5, 999)
    assert video_rows(store, "v", chosen=999, page=1).rows.items[0].likeness == 1.0


def test_a_row_of_zeros_is_like_nothing(tmp_path: Path) -> None:
    write_store(
        tmp_path / "zeros", {"v": features_of(np.zeros((2, 3))), "w": features_of(np.ones((1, 3)))}, fingerprint={}
    )
    store = store_of("zeros", tmp_path)

    shown = video_rows(store, "v")
    assert [row.likeness for row in shown.rows.items] == [None, None]
    assert [shown.strength(row) for row in shown.rows.items] == [1.0, 0.1]
    assert [each.likeness for each in nearest_rows(store, "w", output="pool", row=0)] == [-1.0]


def test_the_nearest_rows_are_those_of_a_search_through_everything(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0)
    videos = {f"v{n}": features_of(numbers.normal(size=(1 + n % 4, 8))) for n in range(40)}
    write_store(tmp_path / "s", videos, fingerprint={})
    found = nearest_rows(store_of("s", tmp_path), "v7", output="pool", row=2, count=5)
    one = videos["v7"]["pool"][2]
    every = {
        (video, row): float(vector @ one / np.linalg.norm(vector) / np.linalg.norm(one))
        for video, each in videos.items()
        if video != "v7"
        for row, vector in enumerate(each["pool"])
    }
    best = {
        video: max((value, row) for (v, row), value in every.items() if v == video) for video in videos if video != "v7"
    }
    wanted = sorted(best, key=lambda video: -best[video][0])[:5]

    assert [each.video for each in found] == wanted
    assert [each.row for each in found] == [best[video][1] for video in wanted]
    assert [each.likeness for each in found] == pytest.approx([best[video][0] for video in wanted], abs=1e-6)


def test_of_a_large_store_candidates_come_from_fewer_dimensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.random.default_rng(1)
    centres = numbers.normal(size=(100, 512))
    videos = {f"v{n:03d}": features_of(centres[n % 50] + 0.1 * numbers.normal(size=(3, 512))) for n in range(100)}
    write_store(tmp_path / "s", videos, fingerprint={})
    monkeypatch.setattr(nearest, "NUMBERS", 100 * 64)
    monkeypatch.setattr(nearest, "CANDIDATES", 5)
    nearest._means.cache_clear()
    found = nearest_rows(store_of("s", tmp_path), "v003", output="pool", row=0, count=1)
    nearest._means.cache_clear()

    assert [each.video for each in found] == ["v053"]


def test_while_a_store_is_read_a_few_wait_and_the_others_are_told(tmp_path: Path) -> None:
    """Each that waits keeps one of the threads that all pages share."""
    write_toy_store(tmp_path / "toy")
    store = open_store(tmp_path / "toy")

    def ask(number: int) -> str:
        try:
            return nearest_rows(store, "video003", output="pool", row=number % 6)[0].video
        except InputError as error:
            return error.message

    with ThreadPoolExecutor(WAITING + 5) as threads:
        with nearest._once:
            asked = [threads.submit(ask, number) for number in range(WAITING + 5)]
            told = [each.result() for _, each in zip(range(5), as_completed(asked), strict=False)]
        found = [each.result() for each in asked]

    assert all("still being read" in each for each in told)
    assert found.count("video002") + found.count("video004") == WAITING


def test_a_store_that_is_made_again_is_read_again(tmp_path: Path) -> None:
    for near in ("b", "c"):
        videos = {"a": np.eye(3)[:1], "b": np.eye(3)[1:2], "c": np.eye(3)[2:]}
        videos[near] = np.eye(3)[:1] + 0.1
        write_store(tmp_path / "s", {k: features_of(v) for k, v in videos.items()}, fingerprint={"near": near})
        found = nearest_rows(store_of("s", tmp_path), "a", output="pool", row=0, count=1)
        assert [each.video for each in found] == [near]


@pytest.mark.parametrize("row", [-1, 6, 10**20])
def test_a_row_that_is_not_there_is_told(features: Path, row: int) -> None:
    with pytest.raises(InputError, match="has 6 rows of pool"):
        nearest_rows(store_of("toy", features), "video000", output="pool", row=row)


def test_maps_and_regions_are_compared_by_their_mean() -> None:
    assert content(np.arange(24.0).reshape(2, 3, 2, 2)).tolist() == [[5, 6], [17, 18]]
    assert content(np.array([1.0, 2.0])).tolist() == [[1], [2]]
