"""One step ahead: the same items and errors, made while the last one is used, and no thread left behind."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Generator
from contextlib import closing

import torch
from hypothesis import given, strategies as st

from pipeline.decoding.ahead import COMPANY_SECONDS, prefetch


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def numbers(count: int, *, made: list[int], fails_at: int | None = None) -> Generator[int, None, None]:
    for number in range(count):
        if number == fails_at:
            raise LookupError(number)
        made.append(number)
        yield number


@given(
    count=st.integers(0, 12),
    fails=st.none() | st.integers(0, 12),
    together=st.integers(1, 4),
    waiting=st.integers(1, 3),
)
def test_items_and_errors_are_the_same(count: int, fails: int | None, together: int, waiting: int) -> None:
    found: list[int] = []
    failed = fails is not None and fails < count
    try:
        for number in prefetch(numbers(count, made=[], fails_at=fails), together=together, waiting=waiting):
            found.append(number)
    except LookupError:
        assert failed
    else:
        assert not failed

    assert found == list(range(fails if failed and fails is not None else count))
    assert not threads()


def test_the_next_is_made_while_this_one_is_used() -> None:
    second = threading.Event()

    def items() -> Generator[int, None, None]:
        yield 1
        second.set()
        yield 2

    with closing(prefetch(items())) as each:
        assert next(each) == 1
        assert second.wait(60)


def test_one_is_made_ahead_and_no_more() -> None:
    made: list[int] = []
    with closing(prefetch(numbers(10, made=made))) as items:
        for number in items:
            assert len(made) <= number + 2
            if number == 4:
                break

    assert made in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5])
    assert not threads()


@given(together=st.integers(1, 4), waiting=st.integers(1, 3), taken=st.integers(1, 30))
def test_no_more_are_made_ahead_than_may_wait(together: int, waiting: int, taken: int) -> None:
    made: list[int] = []
    with closing(prefetch(numbers(30, made=made), together=together, waiting=waiting)) as items:
        for number in items:
            assert len(made) <= number + 1 + together * (waiting + 1)
            if number + 1 == taken:
                break

    assert not threads()


def test_a_slow_item_waits_for_no_company() -> None:
    go_on = threading.Event()

    def items() -> Generator[int, None, None]:
        yield 1
        time.sleep(2 * COMPANY_SECONDS)
        yield 2
        go_on.wait(60)
        yield 3

    with closing(prefetch(items(), together=4)) as each:
        assert [next(each), next(each)] == [1, 2]
        go_on.set()
        assert list(each) == [3]


def test_an_item_that_was_used_is_not_kept() -> None:
    """Frames and batches are megabytes each."""

    def items() -> Generator[threading.Event, None, None]:
        for _ in range(6):
            yield threading.Event()

    for item in prefetch(items(), together=3):
        kept = weakref.ref(item)
        del item
        assert kept() is None


def test_what_makes_the_items_is_closed_when_nobody_wants_more() -> None:
    closed = []

    def items() -> Generator[int, None, None]:
        try:
            yield from range(10)
        finally:
            closed.append(threading.current_thread().name)

    with closing(prefetch(items())) as each:
        next(each)

    assert closed == ["prefetch"]


def test_what_is_being_made_is_finished_before_its_maker_is_closed() -> None:
    """A generator that runs cannot be closed from another thread: the order of one thread is what makes it safe."""
    begun, go_on = threading.Event(), threading.Event()

    def items() -> Generator[int, None, None]:
        yield 1
        begun.set()
        go_on.wait(60)
        yield 2

    maker = items()
    with closing(prefetch(maker)) as each:
        next(each)
        assert begun.wait(60)
        threading.Timer(0.2, go_on.set).start()

    assert maker.gi_frame is None  # closed, and not merely forgotten


def test_arithmetic_in_the_thread_has_as_many_threads_as_outside() -> None:
    """Workers share the cores: a second thread must not start a team of its own."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert list(prefetch(torch.get_num_threads() for _ in range(2))) == [1, 1]
    finally:
        torch.set_num_threads(before)
