"""Videos that share a device: each batch has its turn, rows come back late, and no byte depends on the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from extractors.base import Extractor
from pipeline.core.errors import MissingToolError
from pipeline.core.executors import InProcess
from pipeline.core.reasons import DecodeError
from pipeline.extraction import forward_pass, sampling
from pipeline.extraction.device import Device, Found, drop_waiting
from pipeline.extraction.fingerprint import BATCH, GPU_TIMES
from pipeline.extraction.turns import Started
from pipeline.params.extract import Sampling


class StandIn(Device):
    """Starts now and finds later, as a GPU does; it has room for `room` rows and knows what it was asked for."""

    def __init__(self, room: int = 10**6) -> None:
        super().__init__()
        self.room = room
        self.started, self.fetched = list[list[float]](), list[list[float]]()
        self.pinned_rows, self.emptied = list[int](), 0

    def pinned(self, batch: torch.Tensor) -> torch.Tensor:
        self.pinned_rows.append(len(batch))
        return batch.clone()

    def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
        assert threading.current_thread().name.startswith("device")
        if len(batch) > self.room:
            raise torch.OutOfMemoryError("no room")
        self.started.append(batch.tolist())
        rows = extractor(batch)["number"]

        def fetch() -> Found:
            self.fetched.append(batch.tolist())
            return {"number": rows.numpy()}

        return fetch

    def make_room(self) -> None:
        self.emptied += 1


class Numbered(Extractor):
    takes = "frames"
    preprocessing: dict = {}  # noqa: RUF012 - a test double

    def __init__(self, device: str = "cpu") -> None:
        self.outputs, self.device = {"number": ()}, torch.device(device)
        self.lock = threading.Lock()

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return torch.tensor(float(frame), dtype=torch.float32)

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        assert self.lock.acquire(blocking=False), "two passes at once"
        try:
            return {"number": batch * 2}
        finally:
            self.lock.release()


@dataclass(frozen=True)
class Clip:
    number: int
    frames: int
    fails_at: int | None = None

    def pictures(self) -> Iterator[np.ndarray]:
        """Frame 17 of clip 3 is the number 3017."""
        for frame in range(self.frames):
            if frame == self.fails_at:
                raise DecodeError("crash", f"clip {self.number}")
            yield np.asarray(self.number * 1000 + frame)


@dataclass(frozen=True)
class Forward:
    extractor: Extractor
    overlaps: bool = True

    def __call__(self, clip: Clip) -> tuple[int, bytes | str]:
        rows = sampling.sample(Sampling(every=1), frames=clip.frames, times=np.arange(clip.frames) / 25)
        try:
            found = forward_pass.forward(self.extractor, clip.pictures(), rows=rows)
        except DecodeError as error:
            return clip.number, error.message
        return clip.number, found["number"].tobytes()

    def interrupt(self) -> None:
        drop_waiting()


@st.composite
def clips(draw: st.DrawFn) -> list[Clip]:
    frames = draw(st.lists(st.integers(1, 40), max_size=8))
    fails = st.none() | st.integers(0, 40)
    found = [Clip(number, count, draw(fails)) for number, count in enumerate(frames)]
    return draw(st.permutations(found))


@settings(max_examples=30)
@given(videos=clips(), count=st.integers(2, 4), room=st.integers(1, BATCH))
def test_no_byte_depends_on_who_else_is_in_flight(videos: list[Clip], count: int, room: int) -> None:
    """Lengths, failures and orders as they come; the device is late, and too small for a batch."""
    expected = dict(map(Forward(Numbered()), videos))
    device = StandIn(room)
    with patch.object(forward_pass, "device_of", lambda _: device):
        found = dict(InProcess(count).map(Forward(Numbered()), videos))

    assert found == expected
    assert len(found) == len(videos)
    whole = {video.number for video in videos if isinstance(found[video.number], bytes)}
    wanted = sorted(batch for batch in device.started if batch[0] // 1000 in whole)
    assert wanted == sorted(batch for batch in device.fetched if batch[0] // 1000 in whole)
    assert all(len({number // 1000 for number in batch}) == 1 for batch in device.started)
    for video in videos:
        rows = [number for batch in device.started if batch[0] // 1000 == video.number for number in batch]
        assert rows == [video.number * 1000 + frame for frame in range(len(rows))]


def test_a_pass_is_started_before_the_rows_of_the_last_are_there() -> None:
    """Whoever waits for rows keeps nobody from the device."""
    other_began = threading.Event()

    class Late(StandIn):
        def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
            fetch = super().start(extractor, batch)
            if batch[0] >= 1000:
                other_began.set()

            def later() -> Found:
                assert other_began.wait(60)
                return fetch()

            return later

    device = Late()
    with patch.object(forward_pass, "device_of", lambda _: device):
        found = dict(InProcess(2).map(Forward(Numbered()), [Clip(0, 3), Clip(1, 3)]))
    assert found == dict(map(Forward(Numbered()), [Clip(0, 3), Clip(1, 3)]))


def test_a_gpu_gets_larger_batches_from_pinned_memory_until_one_does_not_fit() -> None:
    device, extractor = StandIn(room=20), Numbered("cuda")
    with patch.object(forward_pass, "device_of", lambda _: device):
        Forward(extractor)(Clip(0, 100))

    assert device.pinned_rows[0] == BATCH * GPU_TIMES == 64
    assert sum(device.pinned_rows) == 100
    assert [number for batch in device.started for number in batch] == list(range(100))
    assert max(len(batch) for batch in device.started) == extractor.most_rows == 16
    assert device.emptied == 2


def test_batches_that_waited_are_cut_to_what_fits_by_now() -> None:
    device, extractor = StandIn(room=4), Numbered()
    extractor.most_rows = 2
    with patch.object(forward_pass, "device_of", lambda _: device):
        found = forward_pass.forward_batch(extractor, torch.arange(7.0))

    assert [len(batch) for batch in device.started] == [2, 2, 2, 1]
    assert device.emptied == 0
    np.testing.assert_array_equal(found["number"], np.arange(7) * 2)


def test_one_row_that_does_not_fit_ends_the_run_and_frees_the_device() -> None:
    device = StandIn(room=0)
    with (
        patch.object(forward_pass, "device_of", lambda _: device),
        pytest.raises(MissingToolError, match="not even one row of 'number' fits"),
    ):
        forward_pass.forward_batch(Numbered(), torch.arange(3.0))
    assert device.in_turn(lambda: 1, place=0).result(60) == 1


class Levels(Numbered):
    """Its frames travel as whole numbers."""

    def pixels(self, frame: np.ndarray) -> torch.Tensor:
        return torch.tensor(int(frame), dtype=torch.int16)

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return self.finish(self.pixels(frame))

    def finish(self, batch: torch.Tensor) -> torch.Tensor:
        return batch.float() / 7


class Remote(StandIn):
    def prepared(self, extractor: Extractor, frame: np.ndarray) -> torch.Tensor:
        return extractor.pixels(frame)

    def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
        assert batch.dtype == torch.int16
        return super().start(extractor, extractor.finish(batch))


def test_what_is_finished_on_the_device_is_what_is_prepared_here() -> None:
    videos = [Clip(0, 20), Clip(1, 3)]
    expected = dict(map(Forward(Levels()), videos))
    device = Remote(room=5)
    with patch.object(forward_pass, "device_of", lambda _: device):
        assert dict(InProcess(2).map(Forward(Levels()), videos)) == expected


def test_a_run_that_is_over_does_not_wait_for_what_has_not_begun() -> None:
    """Of 25 batches the first is at the device; its video may have one more there before it knows."""
    begun, go_on, interrupted = threading.Event(), threading.Event(), list[int]()

    class Slow(StandIn):
        def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
            begun.set()
            assert go_on.wait(60)
            return super().start(extractor, batch)

    class Interrupted(Forward):
        def interrupt(self) -> None:
            drop_waiting()
            interrupted.append(1)
            if len(interrupted) == 3:
                go_on.set()

    device = Slow()
    videos = [Clip(9, 0), *(Clip(number, 40) for number in range(5))]
    with (
        patch.object(forward_pass, "device_of", lambda _: device),
        closing(InProcess(3).map(Interrupted(Numbered()), videos)) as runs,
    ):
        assert next(iter(runs)) == (9, b"")
        assert begun.wait(60)
    assert len(device.started) <= 2


def test_the_oldest_video_goes_first() -> None:
    """While its first batch is at the device, both of a younger clip come, and only then its second."""
    begun, go_on, queued, late = threading.Event(), threading.Event(), threading.Semaphore(0), threading.Event()

    class Held(StandIn):
        def in_turn(self, start: Callable[[], Started], *, place: int) -> Future[Started]:
            turn = super().in_turn(start, place=place)
            queued.release()
            return turn

        def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
            begun.set()
            assert go_on.wait(60)
            return super().start(extractor, batch)

    class Late(Clip):
        def pictures(self) -> Iterator[np.ndarray]:
            for frame in super().pictures():
                assert frame < 1000 + BATCH or late.wait(60)
                yield frame

    device, forward = Held(), Forward(Numbered())
    with patch.object(forward_pass, "device_of", lambda _: device), ThreadPoolExecutor() as pool:
        older = pool.submit(forward, Late(1, 2 * BATCH))
        assert begun.wait(60)
        younger = pool.submit(forward, Clip(2, 2 * BATCH))
        assert all(queued.acquire(timeout=60) for _ in range(3))
        late.set()
        assert queued.acquire(timeout=60)
        go_on.set()

    assert [batch[0] for batch in device.started] == [1000, 1000 + BATCH, 2000, 2000 + BATCH]
    assert [older.result(), younger.result()] == [forward(Clip(1, 2 * BATCH)), forward(Clip(2, 2 * BATCH))]
