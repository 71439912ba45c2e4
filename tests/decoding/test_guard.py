"""The child can be killed: whatever native code does costs one request, never the parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.reasons import DecodeError
from pipeline.decoding import Limits, guard, inspect_video, read_frames
from pipeline.index.video_index import VideoRow
from tests.clips import judged_frames, write_clip
from tests.dying import wait_for_the_end

Clip = Callable[[str], Path]
RowOf = Callable[[Path], VideoRow]
ROGUE = (sys.executable, str(Path(__file__).with_name("rogue_child.py")))


@pytest.fixture
def rogue() -> Iterator[Callable[..., guard.Guard]]:
    started: list[guard.Guard] = []

    def start(**limits: float) -> guard.Guard:
        started.append(guard.Guard(limits=Limits(**limits), program=ROGUE))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for one in started:
        one.close()


def ask(child: guard.Guard, operation: str, path: Path | str = "x.mp4", **details: object) -> list[dict[str, object]]:
    return list(child.request(operation, path=str(path), **details))


def test_a_native_hang_is_killed(rogue: Callable[..., guard.Guard], clip: Clip) -> None:
    child = rogue()
    process = ask(child, "name")[0]["process"]
    child.limits = Limits(stall=1.5)
    with pytest.raises(DecodeError, match=r"did not get on with '.*hangs_decord.mp4'") as caught:
        ask(child, "hang", clip("hangs_decord.mp4"))
    assert caught.value.reason == "timeout"
    assert not child.alive
    wait_for_the_end(int(str(process)))


def test_a_native_abort_is_reported(rogue: Callable[..., guard.Guard], clip: Clip) -> None:
    with pytest.raises(DecodeError, match=r"SIGABRT on '.*aborts_decord.avi'.*bad_alloc") as caught:
        ask(rogue(), "abort", clip("aborts_decord.avi"))
    assert caught.value.reason == "memory"


def test_a_child_that_leaves_is_reported(rogue: Callable[..., guard.Guard]) -> None:
    with pytest.raises(DecodeError, match="exit code 3") as caught:
        ask(rogue(), "quit")
    assert caught.value.reason == "crash"


def test_memory_is_limited(rogue: Callable[..., guard.Guard]) -> None:
    child = rogue(max_memory_mb=200)
    with pytest.raises(DecodeError) as caught:
        ask(child, "fill", megabytes=400)
    assert caught.value.reason == "memory"
    assert ask(child, "fill", megabytes=50) == [{"blocks": 50}]


def test_a_total_time_limit_holds_even_with_progress(tmp_path: Path, row_of: RowOf) -> None:
    path = write_clip(tmp_path / "long.mp4", frames=100, width=640, height=480, options={"preset": "ultrafast"})
    with pytest.raises(DecodeError) as caught:
        list(read_frames(replace(row_of(path), backend="pyav"), [99], limits=Limits(timeout=0.005)))
    assert caught.value.reason == "timeout"


def test_a_slow_caller_is_not_the_decoders_fault(clip: Clip, row_of: RowOf) -> None:
    """Time between frames belongs to the caller: a request may last longer than the limit."""
    limits = Limits(timeout=2.5, stall=2.5)
    frames = read_frames(row_of(clip("fast.mp4")), range(60), limits=limits)  # more than it has slots for
    assert sum(time.sleep(0.05) is None for _ in frames) == 60


def test_one_child_serves_many_videos(clip: Clip, row_of: RowOf) -> None:
    rows = [row_of(clip(name)) for name in ("good.mp4", "vfr.mp4", "alpha.mov")]
    limits = Limits(timeout=77)
    processes = set()
    for row in rows:
        list(read_frames(row, [0, 1], limits=limits))
        with guard.borrowed_guard(limits) as child:
            processes.add(child._process.pid)
    assert len(processes) == 1


def test_a_decoder_stands_back_for_who_takes_its_frames(clip: Clip, row_of: RowOf) -> None:
    list(read_frames(row_of(clip("good.mp4")), [0]))
    with guard.borrowed_guard(Limits()) as child:
        assert os.getpriority(os.PRIO_PROCESS, child._process.pid) == min(os.nice(0) + 5, 19)


def test_a_reused_child_follows_its_parent_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same relative name in two folders is two videos."""
    for frames in (3, 5):
        folder = tmp_path / str(frames)
        folder.mkdir()
        write_clip(folder / "x.mp4", frames=frames)
        monkeypatch.chdir(folder)
        assert inspect_video("x.mp4", limits=Limits(timeout=81))["frames"] == frames


def test_a_child_that_has_grown_is_replaced(monkeypatch: pytest.MonkeyPatch, clip: Clip, row_of: RowOf) -> None:
    limits = Limits(timeout=78)
    monkeypatch.setattr(guard, "KEEP_MB", 1)
    processes = []
    for _ in range(2):
        with guard.borrowed_guard(limits) as child:
            list(child.request("examine", path=str(clip("single.mp4")), backend="pyav"))
            processes.append(child._process.pid)
        assert not child.alive
    assert processes[0] != processes[1]


def test_a_large_parent_does_not_make_its_children_look_large(clip: Clip) -> None:
    program = f"""
        import numpy as np
        from pipeline.decoding import guard, Limits
        ballast = np.ones(400 << 20, np.uint8)
        with guard.borrowed_guard(Limits()) as child:
            list(child.request("examine", path={str(clip("single.mp4"))!r}, backend="pyav"))
            assert 10 < child.cost["peak_mb"] < 300, child.cost
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)


def test_a_child_that_died_while_idle_is_replaced(clip: Clip, row_of: RowOf) -> None:
    limits = Limits(timeout=79)
    row = row_of(clip("good.mp4"))
    list(read_frames(row, [0], limits=limits))
    with guard.borrowed_guard(limits) as child:
        process = child._process
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(list(read_frames(row, [0, 1], limits=limits))) == 2


def test_a_child_that_is_being_killed_is_not_asked_again(
    clip: Clip, row_of: RowOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal takes effect a little later, and until then the process looks alive."""
    limits = Limits(timeout=81)
    row = row_of(clip("good.mp4"))
    list(read_frames(row, [0], limits=limits))
    with guard.borrowed_guard(limits) as child, monkeypatch.context() as patch:
        patch.setattr(child._process, "kill", lambda: None)
        guard.kill_all()
    assert child._process.poll() is None
    assert not child.waits()
    with guard.borrowed_guard(limits) as other:
        assert other is not child
    child.close()


def test_leaving_early_keeps_the_child(clip: Clip, row_of: RowOf) -> None:
    limits = Limits(timeout=80)
    for name in ("good.mp4", "one_pixel.mov", "fast.mp4"):
        row = row_of(clip(name))
        frames = read_frames(row, range(row.frames), limits=limits)
        next(frames)
        frames.close()
        with guard.borrowed_guard(limits) as child:
            assert child.waits()
        assert len(list(read_frames(row, [0, 2], limits=limits))) == 2


def test_frames_stay_what_they_are_however_long_they_are_kept(clip: Clip, row_of: RowOf) -> None:
    """Lent memory is not written to before it is garbage, within a video and across videos."""
    path = clip("fast.mp4")
    truth = judged_frames(path)
    kept = list(read_frames(row_of(path), range(200)))
    views = [frame[2:4] for frame in read_frames(row_of(path), range(0, 200, 3))]
    list(read_frames(row_of(clip("good.mp4")), range(30)))
    assert all(np.array_equal(frame, expected) for frame, expected in zip(kept, truth, strict=True))
    assert all(np.array_equal(view, truth[3 * i][2:4]) for i, view in enumerate(views))


def test_two_videos_can_be_read_side_by_side(clip: Clip, row_of: RowOf) -> None:
    one, two = row_of(clip("good.mp4")), row_of(clip("b_frames.mkv"))
    pairs = list(zip(read_frames(one, range(30)), read_frames(two, range(30)), strict=True))
    assert np.array_equal(np.stack([a for a, _ in pairs]), np.stack(judged_frames(Path(one.path))))
    assert np.array_equal(np.stack([b for _, b in pairs]), np.stack(judged_frames(Path(two.path))))


def test_pyav_goes_on_where_decord_dies(clip: Clip, row_of: RowOf) -> None:
    """A row that wrongly trusts decord with the file that aborts it still gives the right frames."""
    path = clip("aborts_decord.avi")
    row = replace(row_of(path), backend="decord")
    frames = list(read_frames(row, range(10)))
    assert np.array_equal(np.stack(frames), np.stack(judged_frames(path)))


def test_the_parent_loads_no_native_decoder(clip: Clip) -> None:
    program = f"""
        import sys
        from pipeline.decoding import inspect_video
        assert inspect_video({str(clip("good.mp4"))!r})["frames"] == 30
        assert not {{"av", "decord"}} & sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)


@pytest.mark.parametrize("busy", [False, True])
def test_a_child_does_not_outlive_its_parent(busy: bool, clip: Clip) -> None:
    """An idle one sees the channel close; one that hangs in native code is ended by the kernel."""
    hang = {"operation": "hang", "path": str(clip("hangs_decord.mp4")), "limits": {"timeout": 600}, "folder": "/"}
    program = f"""
        import os, signal, time
        from pipeline.decoding import guard, Limits
        child = guard.Guard(limits=Limits(), program={ROGUE!r})
        if {busy}:
            child._channel.send({hang!r})
            time.sleep(0.5)
        print(child._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, timeout=120)
    wait_for_the_end(int(ended.stdout))


def test_a_killed_child_that_stays_is_left_behind(
    rogue: Callable[..., guard.Guard],
    traced: Callable[[int], None],
    clip: Clip,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So does one that waits for a drive which is gone: the video is lost, the run is not."""
    monkeypatch.setattr(guard, "GONE_SECONDS", 0.5)
    child = rogue(stall=1.0)
    traced(child._process.pid)
    with pytest.raises(DecodeError, match=rf"was killed, but process {child._process.pid} is still there") as caught:
        ask(child, "hang", clip("hangs_decord.mp4"))
    assert caught.value.reason == "timeout"
    assert "drive" in caught.value.hint
    assert not child.alive


def test_a_child_that_does_not_listen_is_killed(rogue: Callable[..., guard.Guard]) -> None:
    """A request may be larger than the wire holds; a stopped child never takes it."""
    child = rogue()
    ask(child, "name")
    child.limits = Limits(stall=2.0)
    ask(child, "name")  # from here the wire has this time limit
    os.kill(child._process.pid, signal.SIGSTOP)
    with pytest.raises(DecodeError, match="did not get on") as caught:
        ask(child, "name", wanted=list(range(1_000_000)))
    assert caught.value.reason == "timeout"
    assert not child.alive
