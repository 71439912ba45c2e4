"""Cut Matroska files, still pictures, side data that PyAV does not know, and times that are no numbers."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from pipeline.core.reasons import TRANSIENT, DecodeError
from pipeline.decoding import Limits, examine, guard, inspect_video, read_frames
from pipeline.index.video_index import VideoRow
from tests.clips import judged_frames, patch, picture, tone, truncate, write_clip

RowOf = Callable[[Path], VideoRow]
BROKEN = (sys.executable, str(Path(__file__).with_name("rogue_child.py")))
VOICE = {"sound": tone(5.0, rate=48000), "sound_rate": 48000, "sound_codec": "libopus"}
MATROSKA: dict[str, dict[str, Any]] = {
    "plain.mkv": {},
    "sound.mkv": VOICE,
    "b_frames.mkv": {"options": {"bf": "3"}},
    "vp9.webm": {"codec": "libvpx-vp9", **VOICE},
}


def long_clip(path: Path, **details: Any) -> Path:
    return write_clip(path, frames=125, width=160, height=120, **details)


@pytest.mark.parametrize("name", MATROSKA)
def test_a_cut_matroska_file_says_what_is_missing(name: str, tmp_path: Path, row_of: RowOf) -> None:
    whole = long_clip(tmp_path / name, **MATROSKA[name])
    assert row_of(whole).warnings == ()
    for keep in (0.3, 0.6, 0.9, 0.95):
        cut = truncate(long_clip(tmp_path / f"{keep}-{name}", **MATROSKA[name]), keep=keep)
        row = row_of(cut)
        (warning,) = (each for each in row.warnings if each.startswith("truncated:"))
        assert "the file says that it lasts 5.00 s" in warning
        missing = int(warning.rpartition(" about ")[2].split()[0])
        assert abs(row.frames + missing - 125) <= 3, warning


def test_without_a_length_of_the_picture_that_of_everything_counts(tmp_path: Path, row_of: RowOf) -> None:
    """Not every writer states the picture's own length; the tag's name is changed here."""

    def unnamed(data: bytearray) -> None:
        data[:] = data.replace(b"DURATION", b"DURATIOX")

    for name in ("plain.mkv", "vp9.webm"):
        assert row_of(patch(long_clip(tmp_path / name, **MATROSKA[name]), unnamed)).warnings == ()
        cut = truncate(patch(long_clip(tmp_path / f"cut-{name}", **MATROSKA[name]), unnamed), keep=0.6)
        assert any(warning.startswith("truncated:") for warning in row_of(cut).warnings)


@pytest.mark.parametrize("seconds", [1.0, 9.0])
def test_sound_of_another_length_is_no_cut(seconds: float, tmp_path: Path, row_of: RowOf) -> None:
    voice = VOICE | {"sound": tone(seconds, rate=48000)}
    path = long_clip(tmp_path / f"{seconds}.mkv", **voice)
    assert row_of(path).warnings == ()


def test_a_live_recording_states_no_length(tmp_path: Path, row_of: RowOf) -> None:
    path = long_clip(tmp_path / "live.webm", codec="libvpx-vp9", container_options={"live": "1"})
    assert row_of(truncate(path, keep=0.6)).warnings == ()


@pytest.mark.parametrize("brand", [b"avif", b"heic", b"mif1", b"avis"])
def test_still_pictures_are_refused(brand: bytes, tmp_path: Path) -> None:
    path = write_clip(tmp_path / "still.avif", codec="libsvtav1", frames=1, format="avif")

    def branded(data: bytearray) -> None:
        data[8:12] = brand

    with pytest.raises(DecodeError, match=rf"is a still picture \({brand.decode()}\)") as caught:
        inspect_video(str(patch(path, branded)))
    assert caught.value.reason == "not-a-video"


def test_a_picture_sequence_is_a_video(tmp_path: Path) -> None:
    """Its first picture is a stream of its own, with one frame."""
    path = write_clip(tmp_path / "moving.avif", codec="libsvtav1", frames=5, format="avif")
    assert inspect_video(str(path))["frames"] == 5
    assert os.sched_getscheduler(0) == os.SCHED_OTHER  # which its encoder changes


def exif_clip(path: Path, *, rotation: int = 0) -> Path:
    """Motion JPEG as cameras write it: each frame with Exif, which PyAV has no name for (as for MV-HEVC's views)."""
    exif = Image.Exif()
    exif[0x010F] = "maker"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 80, "yuvj420p"
        if rotation:
            stream.set_display_rotation(rotation)
        for number in range(5):
            data = io.BytesIO()
            Image.fromarray(picture(number, width=96, height=80)).save(data, "JPEG", exif=exif)
            packet = av.Packet(data.getvalue())
            packet.stream, packet.pts, packet.dts, packet.time_base = stream, number, number, Fraction(1, 25)
            container.mux(packet)
    return path


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_side_data_of_an_unknown_kind_is_no_crash(rotation: int, tmp_path: Path, row_of: RowOf) -> None:
    path = exif_clip(tmp_path / f"exif{rotation}.mov", rotation=rotation)
    with av.open(str(path)) as container, pytest.raises(ValueError, match="is not a valid Type"):
        _ = next(container.decode(video=0)).side_data
    found = list(read_frames(row_of(path), range(5)))
    assert len(found) == 5
    expected = [np.rot90(frame, rotation // 90) for frame in judged_frames(path)]
    assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))


def test_what_a_library_raises_is_one_line_and_not_a_crash(tmp_path: Path) -> None:
    child = guard.Guard(limits=Limits(), program=BROKEN)
    try:
        with pytest.raises(DecodeError, match=r"'x.mp4' holds what the decoder cannot take \(ValueError: 31") as caught:
            list(child.request("raise", path="x.mp4"))
        assert caught.value.reason == "unsupported"
        assert "\n" not in caught.value.message
        assert caught.value.reason in TRANSIENT
        assert child.alive, "the next video is read by the same child"
    finally:
        child.close()


def test_times_that_are_no_numbers_follow_their_neighbours() -> None:
    stamps = [float("nan"), 0.04, float("inf"), 0.12, None, float("-inf")]
    found = examine._times(stamps, rate=25.0, last=0.0)
    assert found["repaired_times"] == 4
    assert np.allclose(found["times"], [0, 0.04, 0.08, 0.12, 0.16, 0.2])
    assert found["duration"] == pytest.approx(0.24)
    json.dumps(found, allow_nan=False)
