"""Features of a file that changes while it is read are not kept, and rows follow the times of the index."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.executors import Executor, InProcess
from pipeline.extraction import extract
from pipeline.index.video_index import read_index, write_index
from pipeline.params.extract import Extract
from tests.clips import tone, write_clip
from tests.decoding.racing import RACES, Racing, make_race
from tests.store.making import QUIET, ToyProcesses, add_toy_family, content, index_of, toy, write_clips

WORKERS = {"one process": InProcess(), "workers": ToyProcesses(2)}
LATE_WORKERS = pytest.param("workers", True, marks=pytest.mark.slow)
MOMENTS = [("one process", False), ("one process", True), ("workers", False), LATE_WORKERS]  # late: decoding has begun
SOUND = {"family": "toy_sound", "network": "toy", "weights": "random", "outputs": ["loudness", "ends"]}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_toy_family()
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))


def extracted(index: Path, out: Path, params: Extract, executor: Executor | None = None) -> dict[str, Any]:
    return extract.extract_features(
        {"toy": params}, index=index, outs={"toy": out}, executor=executor or InProcess(), device="cpu", console=QUIET
    )


def listening() -> Extract:
    return Extract.model_validate(SOUND | {"sampling": {"hop": 0.5, "tail": "drop"}})


@pytest.mark.parametrize("how", RACES)
@pytest.mark.parametrize(("workers", "late"), MOMENTS)
def test_extract_keeps_only_the_truth(workers: str, how: str, late: bool, tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    race = make_race(how, tmp_path / "videos/victim.ts", late=late)
    write_clip(tmp_path / "videos/other.mp4", frames=4)
    index = index_of(tmp_path / "videos", tmp_path / "index")
    params = toy(max_failed=1, sampling={"every": 2})
    raced = extracted(index, tmp_path / "raced", params, Racing(WORKERS[workers], race))
    assert race.video.read_bytes() == race.after, "the race was run"
    assert raced["failures"] == {"victim": "changed"}

    race.prepare()
    extracted(index, tmp_path / "again", params)
    shutil.rmtree(tmp_path / "cache")
    extracted(index, tmp_path / "truth", params)
    assert content(tmp_path / "again") == content(tmp_path / "truth")


def damaged(index: Path, out: Path, **changes: Any) -> Path:
    """An index with a flipped time or field of one video."""
    found = read_index(index)
    times = {video_id: found.times(video_id) for video_id in found.rows}
    rows = dict(found.rows)
    shift = changes.pop("shift", None)
    if shift is not None:
        times["victim"] = np.append(times["victim"][:3], times["victim"][3:] + shift)
    rows["victim"] = replace(rows["victim"], **changes)
    write_index(out, rows.values(), times=times)
    return out


@pytest.mark.parametrize(
    ("params", "changes"),
    [
        (toy(sampling={"fps": 2}), {"shift": 1.0}),
        (toy(sampling={"every": 2}), {"shift": 2**-20}),
        (listening(), {"shift": 0.3}),
        (listening(), {"duration": 1.5}),
        (listening(), {"audio": "absent"}),
        (listening(), {"start": -1.0}),
    ],
    ids=["fps", "every", "sound", "duration", "soundless", "start"],
)
def test_a_flipped_time_does_not_outlive_the_repair(params: Extract, changes: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    voice = {"sound": tone(2.0, rate=8000), "sound_rate": 8000, "sound_codec": "pcm_s16le"}
    for name in ("victim", "other"):
        write_clip(tmp_path / f"videos/{name}.mkv", frames=50, width=48 if name == "victim" else 64, height=32, **voice)
    index = index_of(tmp_path / "videos", tmp_path / "index")
    extracted(damaged(index, tmp_path / "damaged", **changes), tmp_path / "wrong", params)
    again = extracted(index, tmp_path / "again", params)
    assert again["computed"] == 1
    assert extracted(index, tmp_path / "again", params)["computed"] == 0
    shutil.rmtree(tmp_path / "cache")
    extracted(index, tmp_path / "truth", params)
    assert content(tmp_path / "again") == content(tmp_path / "truth")


@pytest.mark.parametrize("worst", [np.nan, np.inf, 1e15])
@pytest.mark.parametrize("kind", ["frames", "sound"])
def test_times_that_are_no_times_cost_one_video(kind: str, worst: float, tmp_path: Path) -> None:
    write_clips(tmp_path / "videos", 3)
    found = read_index(index_of(tmp_path / "videos", tmp_path / "index"))
    times = {video_id: found.times(video_id) for video_id in found.rows}
    times["clip001"][-1] = worst
    victim = replace(found.rows["clip001"], duration=worst)
    write_index(tmp_path / "bad", [*(found.rows[name] for name in ("clip000", "clip002")), victim], times=times)
    params = toy(sampling={"fps": 1}) if kind == "frames" else listening()
    summary = extracted(tmp_path / "bad", tmp_path / "store", params.model_copy(update={"max_failed": 1}))
    assert summary["failures"] == {"clip001": "bad-times"}
    assert summary["videos"] == 2
