"""Sound: one clock with the picture, and a state for each way of having or not having it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.decoding import read_audio
from pipeline.index.video_index import VideoRow
from tests.clips import flip_bits, patch, picture, tone, write_clip

RowOf = Callable[[Path], VideoRow]


def loudest_frequency(samples: np.ndarray, rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples))
    return float(np.argmax(spectrum) * rate / len(samples))


@pytest.mark.parametrize(
    ("rate", "channels", "codec"), [(8000, 1, "aac"), (16000, 1, "aac"), (44100, 2, "aac"), (48000, 6, "aac")]
)
def test_any_rate_and_layout_becomes_mono(rate: int, channels: int, codec: str, tmp_path: Path, row_of: RowOf) -> None:
    sound = tone(1.0, rate=rate, channels=channels)
    path = write_clip(tmp_path / "x.mp4", frames=25, sound=sound, sound_rate=rate, sound_codec=codec)
    row = row_of(path)
    for wanted in (8000, 16000, 22050):
        heard = read_audio(row, wanted)
        assert (heard.state, heard.rate, heard.samples.dtype, heard.samples.ndim) == ("present", wanted, np.float32, 1)
        assert abs(heard.end - 1.0) < 0.15
        assert abs(loudest_frequency(heard.samples, wanted) - 440) < 5
    assert row.audio == "present"
    assert row.audio_peak > 0.1


def test_silence_is_not_absence(tmp_path: Path, row_of: RowOf) -> None:
    silent = row_of(write_clip(tmp_path / "silent.mp4", sound=np.zeros((2, 16000), np.float32)))
    absent = row_of(write_clip(tmp_path / "absent.mp4"))
    assert (silent.audio, silent.audio_peak, read_audio(silent).state) == ("present", 0.0, "silent")
    assert (absent.audio, absent.audio_end, read_audio(absent).state) == ("absent", 0.0, "absent")
    assert len(read_audio(absent).samples) == 0


@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_sound_shorter_or_longer_than_the_picture(seconds: float, tmp_path: Path, row_of: RowOf) -> None:
    row = row_of(write_clip(tmp_path / "x.mp4", frames=25, sound=tone(seconds, rate=16000)))
    heard = read_audio(row)
    assert abs(heard.end - seconds) < 0.15
    assert len(heard.samples) == round(heard.end * 16000)
    assert row.duration == pytest.approx(1.0)
    assert row.audio_end == pytest.approx(heard.end, abs=0.01)


def test_sound_that_starts_late_is_on_the_pictures_clock(tmp_path: Path, row_of: RowOf) -> None:
    """A click half a second after the first frame is at sample rate / 2, wherever the container's clock starts."""
    path = tmp_path / "late.mkv"
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        voice = container.add_stream("pcm_s16le", rate=16000, layout="mono")
        for number in range(50):
            frame = av.VideoFrame.from_ndarray(picture(number, width=64, height=48), format="rgb24")
            frame.pts, frame.time_base = 5 * 25 + number, Fraction(1, 25)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        block = av.AudioFrame.from_ndarray(np.full((1, 1600), 16000, np.int16), format="s16", layout="mono")
        block.sample_rate, block.pts, block.time_base = 16000, int(5.5 * 16000), Fraction(1, 16000)
        container.mux(voice.encode(block))
        container.mux(voice.encode(None))
    row = row_of(path)
    heard = read_audio(row)
    assert row.start == pytest.approx(5.0, abs=0.01)
    assert heard.start == pytest.approx(0.5, abs=0.01)
    assert np.flatnonzero(heard.samples > 0.2)[0] == pytest.approx(8000, abs=100)
    assert not heard.samples[:7800].any()


def test_sound_that_cannot_be_decoded_is_unreadable(tmp_path: Path, row_of: RowOf) -> None:
    """The track is there; its codec's name is not one that any decoder knows."""
    path = write_clip(tmp_path / "x.mkv", sound=tone(1.0, rate=16000))
    patch(path, lambda data: data.__setitem__(slice(data.index(b"A_AAC"), data.index(b"A_AAC") + 5), b"A_NIL"))
    row = row_of(path)
    assert row.audio == "unreadable"
    assert read_audio(row).state == "unreadable"
    assert any(warning.startswith("audio-unreadable") for warning in row.warnings)
    assert row.frames == 30


def test_damaged_sound_is_flagged_and_leaves_the_picture_alone(tmp_path: Path, row_of: RowOf) -> None:
    path = write_clip(tmp_path / "x.mp4", frames=5, sound=tone(4.0, rate=44100), sound_rate=44100)
    flip_bits(path, count=300, start=0.5, end=0.8)
    row = row_of(path)
    assert any(warning.startswith("audio-damaged") for warning in row.warnings)
    assert read_audio(row).warnings
    assert row.frames == 5
