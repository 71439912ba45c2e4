"""On real workers: the same bytes whatever their number, and poison costs its own item."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import UsageError
from tests.cluster.conftest import Workers, journal
from tests.cluster.tasks import Slow, Troublesome
from tests.store.making import content, extracted, index_of


@pytest.fixture(scope="module")
def reference(clips: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """An index, and the bytes of the store that one process makes."""
    folder = tmp_path_factory.mktemp("reference")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        index = index_of(clips, folder / "index")
        extracted(index, folder / "store")
    return index, content(folder / "store")


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_number_of_workers_changes_no_byte(
    count: int, workers: Workers, reference: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    index, expected = reference
    summary = extracted(index, tmp_path / "store", executor=workers(count))
    assert (summary["videos"], summary["computed"]) == (12, 12)
    assert content(tmp_path / "store") == expected


def test_poison_costs_its_own_item(workers: Workers, tmp_path: Path) -> None:
    """One item ends its worker, one holds it for ever: both are given up, the others are done once each."""
    good = [f"good{number}" for number in range(6)]
    items = [*good[:3], "dies", *good[3:], "hangs"]
    results = list(workers(2, attempts=2, time_limit=2.0, videos_per_task=4).map(Troublesome(), items))
    told = "it took its worker down, or needed more than time_limit, 2 times"
    assert sorted(results) == sorted([*(item.upper() for item in good), f"dies: {told}", f"hangs: {told}"])
    events = journal(tmp_path)
    assert {event["items"][0] for event in events if event["event"] == "given up"} == {"dies", "hangs"}
    assert {event["item"] for event in events if event["event"] == "done"} == set(good)


def test_work_moves_away_from_a_straggler(workers: Workers, tmp_path: Path) -> None:
    executor = workers(2, patience=1.0, videos_per_task=1)
    assert sorted(executor.map(Slow(tmp_path), ["a", "slow", "b"])) == ["a", "b", "slow"]
    assert [event["items"] for event in journal(tmp_path) if event["event"] == "started again"] == [["slow"]]


def test_an_error_in_a_worker_reaches_the_caller(workers: Workers) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(workers(1).map(int, ["1", "x"]))


def test_only_work_with_a_name_travels(workers: Workers) -> None:
    with pytest.raises(UsageError, match="cannot run on a cluster"):
        list(workers(1).map(lambda item: item, [1]))
    assert list(workers(1).map(str, [])) == []
