"""Sound through the extract stage: rows on the picture's clock, and silence, absence and lateness told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from models.base import Input
from pipeline.captioner.batches import FeatureSource
from pipeline.core.errors import UsageError
from pipeline.core.executors import InProcess
from pipeline.extraction import audio_features, extract, sampling
from pipeline.extraction.build_extractor import extractor_of
from pipeline.extraction.disk_estimate import estimate, planned_task
from pipeline.index.video_index import read_index
from pipeline.params.extract import Extract
from pipeline.store import Store, open_store
from pipeline.store_tools.verify_store import verify
from tests.clips import tone, write_clip
from tests.store.making import QUIET, add_toy_family, index_of

RATE = 8000


def listening(hop: float = 0.5, *, tail: str = "drop", **changes: Any) -> Extract:
    values = {"family": "toy_sound", "network": "toy", "weights": "random", "outputs": ["loudness", "ends"]}
    return Extract.model_validate(values | {"sampling": {"hop": hop, "tail": tail}} | changes)


def heard(folder: Path, params: Extract | None = None) -> Store:
    """The store of the videos in `folder`/videos."""
    index = index_of(folder / "videos", folder / "index")
    outs = {"sound": folder / "store"}
    extract.extract_features(
        {"sound": params or listening()}, index=index, outs=outs, executor=InProcess(), device="cpu", console=QUIET
    )
    return open_store(folder / "store")


def video(path: Path, sound: np.ndarray | None, *, frames: int = 50, start: float = 0.0) -> Path:
    path.parent.mkdir(exist_ok=True)
    about_sound = {"sound": sound, "sound_rate": RATE, "sound_codec": "pcm_s16le", "sound_start": start}
    return write_clip(path, frames=frames, width=48, height=32, **about_sound)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two seconds of picture with every kind of sound."""
    folder = tmp_path_factory.mktemp("kinds")
    add_toy_family()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        video(folder / "videos/whole.mkv", tone(2.0, rate=RATE))
        video(folder / "videos/silent.mkv", np.zeros((1, 2 * RATE), np.float32))
        video(folder / "videos/absent.mkv", None)
        video(folder / "videos/early_end.mkv", tone(0.7, rate=RATE))
        video(folder / "videos/longer.mkv", tone(3.0, rate=RATE))
        video(folder / "videos/late.mkv", tone(1.4, rate=RATE), start=0.6)
        return heard(folder)


def test_rows_follow_the_picture_whatever_the_sound(store: Store) -> None:
    for video_id in store:
        rows = store[video_id].rows
        np.testing.assert_allclose(rows.start, [0.0, 0.5, 1.0, 1.5])
        np.testing.assert_allclose(rows.end, [0.5, 1.0, 1.5, 2.0])
        assert rows.first_frame.tolist() == [0, 12, 25, 37]  # frame 12 is shown from 0.48 to 0.52
        assert rows.last_frame.tolist() == [12, 24, 37, 49]
    assert verify(store.folder) == []


def test_a_missing_track_is_stated_and_silence_is_sound(store: Store) -> None:
    states = {video_id: facts["sound"] for video_id, facts in store.manifest["videos"].items()}

    assert states["absent"] == "absent"
    assert states["silent"] == "silent"
    assert states["whole"] == "present"
    assert store["absent"].rows.valid.tolist() == [0, 0, 0, 0]
    assert not store["absent"]["ends"].any()
    assert store["silent"].rows.valid.tolist() == [13, 13, 13, 13]
    assert not store["silent"]["loudness"].any()


def test_sound_that_ends_early_is_valid_as_long_as_it_lasts(store: Store) -> None:
    assert store["early_end"].rows.valid.tolist() == [13, 6, 0, 0]  # until 0.7 s: frames 12 to 17
    loudness = store["early_end"]["loudness"]
    np.testing.assert_allclose(loudness[:2], [0.5 / np.sqrt(2), 0.5 / np.sqrt(2) * np.sqrt(0.4)], rtol=0.01)
    assert loudness[2:].tolist() == [0, 0]


def test_sound_beyond_the_picture_is_not_heard(store: Store) -> None:
    np.testing.assert_array_equal(store["longer"]["loudness"], store["whole"]["loudness"])
    np.testing.assert_array_equal(store["longer"].rows.valid, store["whole"].rows.valid)


def test_masks_leave_out_what_was_not_heard(store: Store) -> None:
    batch = FeatureSource({"sound": store}, {"sound": Input("sound", "ends")}).batch(["absent", "early_end", "silent"])[
        "sound"
    ]

    assert batch.mask.tolist() == [[False] * 4, [True, True, False, False], [True] * 4]


def test_sound_that_starts_late(store: Store) -> None:
    """Rows before the first sound are not valid and hold zeros, not what a network makes of silence."""
    assert store["late"].rows.valid.tolist() == [0, 10, 13, 13]  # from 0.6 s: frames 15 to 24
    assert store["late"]["loudness"][0] == 0
    np.testing.assert_allclose(store["late"]["loudness"][2:], 0.5 / np.sqrt(2), rtol=0.02)


def test_clips_of_any_length(tmp_path: Path) -> None:
    """A picture too short for one window has one row, padded with zeros; `valid` is the frames that were heard."""
    lengths = [1, 2, 15, 16, 17, 100]
    for frames in lengths:
        video(tmp_path / f"videos/heard-{frames}.mkv", tone(frames / 25, rate=RATE), frames=frames)
        video(tmp_path / f"videos/mute-{frames}.mkv", None, frames=frames)
    for tail, counts in {"drop": [1, 1, 1, 1, 1, 8], "pad": [1, 1, 2, 2, 2, 8]}.items():
        store = heard(tmp_path, listening(tail=tail))
        for frames, expected in zip(lengths, counts, strict=True):
            for kind in ("heard", "mute"):
                rows = store[f"{kind}-{frames}"].rows
                assert store[f"{kind}-{frames}"]["ends"].shape == (expected, 2)
                assert (rows.valid > 0).tolist() == [kind == "heard"] * expected
                assert rows.first_frame[0] == 0
                assert rows.last_frame[-1] == min(frames - 1, 12 if expected == 1 else frames - 1)
        assert verify(store.folder) == []
    assert store["heard-2"].rows.valid.tolist() == [2]


def test_centred_rows_reach_before_the_picture(tmp_path: Path) -> None:
    video(tmp_path / "videos/v.mkv", tone(2.0, rate=RATE))
    store = heard(tmp_path, listening(0.25, tail="pad", options={"lead": RATE // 4}))

    np.testing.assert_allclose(store["v"].rows.start[:3], [0, 0, 0.25])
    np.testing.assert_allclose(store["v"].rows.end[:3], [0.25, 0.5, 0.75])
    assert len(store["v"].rows) == 8  # 1 + (2 + 0.25 - 0.5) / 0.25
    np.testing.assert_allclose(store["v"]["loudness"][0], 0.5 / 2, rtol=0.01)  # half of the window is before the sound


def test_one_pass_serves_extractors_of_one_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video(tmp_path / "videos/v.mkv", tone(2.0, rate=RATE))
    index = index_of(tmp_path / "videos", tmp_path / "index")
    read, calls = audio_features.read_audio, []
    monkeypatch.setattr(audio_features, "read_audio", lambda *args: calls.append(args) or read(*args))
    params = {"coarse": listening(0.5), "fine": listening(0.1)}
    outs = {name: tmp_path / name for name in params}

    summary = extract.extract_features(
        params, index=index, outs=outs, executor=InProcess(), device="cpu", console=QUIET
    )

    assert (summary["decoded"], len(calls)) == (1, 1)
    assert [len(open_store(outs[name])["v"].rows) for name in params] == [4, 16]


def test_the_estimate_is_exact(tmp_path: Path) -> None:
    video(tmp_path / "videos/v.mkv", tone(2.0, rate=RATE))
    video(tmp_path / "videos/w.mkv", None, frames=33)
    store = heard(tmp_path)
    task = planned_task("sound", listening(), device="cpu")
    told = estimate(task, read_index(tmp_path / "index"), out=tmp_path / "store")

    assert (told.rows, told.shards) == (store.manifest["sizes"]["rows"], store.manifest["sizes"]["bytes"])


@pytest.mark.parametrize(
    ("family", "rule", "message"),
    [
        ("toy_sound", {"every": 5}, "'toy_sound' takes audio: its sampling must give hop"),
        ("toy", {"hop": 1.0}, "'toy' takes frames: its sampling must give every, count or fps"),
        ("toy_clips", {"hop": 1.0}, "'toy_clips' takes clips: its sampling must give window and stride"),
    ],
)
def test_sampling_must_fit_sound(family: str, rule: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        extractor_of(listening(family=family, sampling=rule), device="cpu")


def test_sound_does_not_loop() -> None:
    with pytest.raises(ValueError, match="goes with tail drop or pad"):
        listening(tail="loop")


@given(
    samples=st.integers(0, 5000),
    window=st.integers(1, 600),
    hop=st.integers(1, 900),
    centred=st.booleans(),
    tail=st.sampled_from(["drop", "pad"]),
)
def test_windows_of_sound(samples: int, window: int, hop: int, centred: bool, tail: str) -> None:
    """`drop` never reaches beyond the sound, `pad` leaves no sample after the last window; neither gives nothing."""
    lead = window // 2 if centred else 0
    starts = sampling.sound_windows(samples, window=window, hop=hop, lead=lead, tail=tail)

    assert starts[0] == -lead
    assert (np.diff(starts) == hop).all()
    if tail == "drop":
        assert len(starts) == 1 or starts[-1] + window <= samples
        assert starts[-1] + hop + window > samples
    else:
        assert len(starts) == 1 or starts[-1] < samples
        assert starts[-1] + max(hop, window) >= samples


@given(times=st.lists(st.floats(0.001, 0.5), min_size=1, max_size=40), a=st.floats(0, 1), b=st.floats(0, 1))
def test_frames_between_are_those_on_screen(times: list[float], a: float, b: float) -> None:
    shown = np.concatenate([[0.0], np.cumsum(times)])  # frame i from shown[i] to shown[i + 1]
    start, end = np.sort(np.array([a, b]) * shown[-1])
    first, last = sampling.frames_between(shown[:-1], start, end)
    overlapping = [
        number for number in range(len(times)) if min(end, shown[number + 1]) - max(start, shown[number]) > 2e-6
    ]

    assert all(first <= number <= last for number in overlapping)
    assert last - first + 1 <= len(overlapping) + 2
