"""Several items in flight: each done once, none in another's way, and nothing left behind when a run ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from pipeline.core.executors import HERE, InProcess, Together
from pipeline.core.overlap import in_flight, overlapped

ENDS = 60.0  # seconds, after which a test that hangs ends; none is waited for where all is well


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("in_flight")]


def never() -> None:
    pytest.fail("nothing was to be interrupted")


@dataclass
class Counted:
    """Work that knows how much of it is under way."""

    overlaps: bool = True
    most: int = 0
    under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, item: int) -> int:
        with self.lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        time.sleep(0.0005 * (item % 3))
        with self.lock:
            self.under_way -= 1
        return -item

    def interrupt(self) -> None:
        never()


@settings(max_examples=30)
@given(items=st.lists(st.integers(), max_size=20), count=st.integers(1, 5))
def test_each_item_is_done_once_and_no_more_than_there_are_places(items: list[int], count: int) -> None:
    work = Counted()
    found = list(InProcess(count).map(work, items))
    assert sorted(found) == sorted(-item for item in items)
    assert work.most <= count
    assert sorted(Together(work, count)(items)) == sorted(found)
    assert not threads()


def test_work_that_does_not_overlap_is_done_in_turn() -> None:
    work = Counted(overlaps=False)
    assert list(InProcess(4).map(work, range(9))) == list(HERE.map(work, range(9))) == [-item for item in range(9)]
    assert work.most == 1


def test_a_worker_with_one_core_has_one_item_in_flight_and_a_large_one_not_all_of_them() -> None:
    assert [in_flight(cores) for cores in (0, 1, 2, 8, 128)] == [1, 1, 4, 10, 16]


def test_items_that_hang_hold_no_other_up() -> None:
    """Two of three places are lost; the hanging ones go on only when all others are done."""
    released = threading.Event()

    def work(item: int) -> int:
        if item in (0, 3):
            assert released.wait(ENDS)
        return item

    found = []
    for item in overlapped(work, range(40), count=3, interrupt=never):
        found.append(item)
        if len(found) == 38:
            released.set()
    assert sorted(found) == list(range(40))
    assert set(found[-2:]) == {0, 3}


def test_an_error_ends_what_is_under_way_until_it_is_gone() -> None:
    """Work may try once more what was interrupted; what waits for a place is never begun."""
    interrupted, begun = threading.Semaphore(0), list[int]()

    def work(item: int) -> int:
        begun.append(item)
        if item == 2:
            raise LookupError(item)
        for _ in range(2):
            assert interrupted.acquire(timeout=ENDS)
        return item

    with pytest.raises(LookupError, match="2"):
        list(overlapped(work, range(100), count=3, interrupt=lambda: interrupted.release(2)))
    assert set(begun) <= {0, 1, 2, 3}
    assert not threads()


@pytest.mark.parametrize("end", [GeneratorExit, KeyboardInterrupt])
def test_whoever_wants_no_more_waits_for_nothing(end: type[BaseException]) -> None:
    gone = threading.Event()

    def work(item: int) -> int:
        return item if item < 2 else int(gone.wait(ENDS))

    with closing(overlapped(work, range(100), count=2, interrupt=gone.set)) as results:
        assert {next(results), next(results)} == {0, 1}
        if end is KeyboardInterrupt:
            with pytest.raises(KeyboardInterrupt):
                results.throw(end)
    assert gone.is_set()
    assert not threads()


def test_items_are_taken_as_they_are_needed() -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    with closing(overlapped(int, items(), count=3, interrupt=lambda: None)) as results:
        for done, _ in enumerate(results, start=1):
            assert len(taken) <= done + 6
            if done == 20:
                break
