"""Several videos in flight: the bytes of one after another; a clip that crawls, hangs or aborts holds none up."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.executors import Executor, InProcess
from pipeline.decoding import guard
from pipeline.extraction import extract
from pipeline.params.extract import Extract
from tests.clips import tone, write_clip
from tests.store.making import QUIET, content, index_of, toy, write_clips

SOUND = {"family": "toy_sound", "network": "toy", "weights": "random", "outputs": ["loudness", "ends"]}
NAMES = ("thirds", "all", "sound")


def run(index: Path, out: Path, executor: Executor) -> dict[str, Any]:
    sampling = {"thirds": toy(max_failed=2), "all": toy(max_failed=2, sampling={"every": 1})}
    listening = Extract.model_validate(SOUND | {"sampling": {"hop": 0.5, "tail": "pad"}, "max_failed": 2})
    return extract.extract_features(
        {**sampling, "sound": listening},
        index=index,
        outs={name: out / name for name in NAMES},
        executor=executor,
        device="cpu",
        console=QUIET,
    )


def test_what_is_in_flight_changes_no_byte(tmp_path: Path) -> None:
    """Short and long clips, with sound and without; one is another file by now, and one is gone."""
    write_clips(tmp_path / "videos", 7)
    write_clip(
        tmp_path / "videos/long.mkv", frames=90, width=64, height=48, sound=tone(3.0, rate=8000), sound_rate=8000
    )
    index = index_of(tmp_path / "videos", tmp_path / "index")
    shutil.copy(tmp_path / "videos/clip000.mp4", tmp_path / "videos/clip002.mp4")
    (tmp_path / "videos/clip004.mp4").unlink()
    in_turn = run(index, tmp_path / "in_turn", InProcess())
    shutil.rmtree(tmp_path / "cache")
    together = run(index, tmp_path / "together", InProcess(4))

    assert {name: content(tmp_path / "in_turn" / name) for name in NAMES} == {
        name: content(tmp_path / "together" / name) for name in NAMES
    }
    told = {"store": ""}
    assert {name: facts | told for name, facts in together["stores"].items()} == {
        name: facts | told for name, facts in in_turn["stores"].items()
    }
    assert in_turn["stores"]["all"]["failures"] == {"clip002": "changed", "clip004": "missing"}
    assert together["decoded"] == in_turn["decoded"]
    assert run(index, tmp_path / "together", InProcess(4))["decoded"] == 8  # the failures, once more


@dataclass(frozen=True)
class Watched:
    """An executor that notes the order of the results, and calls `then` after so many."""

    executor: Executor
    order: list[str]
    after: int
    then: Callable[[], None]
    workers: int = 1

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        for result in self.executor.map(work, items):
            self.order.append(result.video_id)
            if len(self.order) == self.after:
                self.then()
            yield result


def test_a_slow_a_hanging_and_an_aborting_clip_hold_no_other_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two give nothing until all others are done, which one place of three is left for; each costs itself alone."""
    write_clips(tmp_path / "videos", 8)
    stuck = ("a_hangs", "b_crawls")
    for number, name in enumerate((*stuck, "aborts")):
        write_clip(tmp_path / f"videos/{name}.mp4", frames=9, width=48, height=32, fps=31 + number)
    index = index_of(tmp_path / "videos", tmp_path / "index")
    guard.close_idle()
    child = Path(__file__).parents[1] / "decoding/stuck_child.py"
    monkeypatch.setattr(guard, "PROGRAM", (guard.PROGRAM[0], str(child)))
    order: list[str] = []

    def release() -> None:
        for name in stuck:
            (tmp_path / f"videos/{name}.mp4.go").touch()

    summary = extract.extract_features(
        {"toy": toy(max_failed=2)},
        index=index,
        outs={"toy": tmp_path / "store"},
        executor=Watched(InProcess(3), order, after=9, then=release),
        device="cpu",
        console=QUIET,
    )
    guard.close_idle()

    assert ({*order[-2:]}, len(order)) == ({*stuck}, 11)
    assert summary["failures"] == {"a_hangs": "crash", "aborts": "crash"}
    assert summary["videos"] == 9
