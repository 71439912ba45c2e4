"""Sounds, by numbers: audible or not, and where their energy lies."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.demo.scene import SOUNDS
from pipeline.demo.sound import LOUDEST, LOUDNESS, RATE, Wave, wave

SECONDS = 3


def heard(audio: str, *, seed: int = 0) -> Wave:
    track = wave(audio, samples=SECONDS * RATE, seed=seed)
    assert track is not None
    return track


def loudest_pitch(track: Wave) -> float:
    return float(np.fft.rfftfreq(len(track), 1 / RATE)[np.abs(np.fft.rfft(track)).argmax()])


def spectrum_flatness(track: Wave) -> float:
    """Near 0 for a tone, towards 1 for noise."""
    power = np.abs(np.fft.rfft(track)) ** 2 + 1e-12
    return float(np.exp(np.log(power).mean()) / power.mean())


@pytest.mark.parametrize("sound", SOUNDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_sounds_are_audible_and_do_not_clip(sound: str, seed: int) -> None:
    track = heard(sound, seed=seed)

    assert LOUDNESS / 2 < np.sqrt(np.mean(track**2)) < LOUDNESS * 1.1
    assert np.abs(track).max() < LOUDEST + 0.05
    assert not np.array_equal(track, heard(sound, seed=seed + 7))


def test_quiet_clips_are_quiet() -> None:
    assert wave("none", samples=100, seed=0) is None
    assert not heard("silence").any()
    assert 0 < np.sqrt(np.mean(heard("room") ** 2)) < LOUDNESS / 100


@pytest.mark.parametrize(
    ("sound", "lowest", "highest"),
    [("bell", 600, 800), ("beep", 930, 1120), ("hum", 80, 115), ("drum", 60, 130)],
)
def test_tones_have_their_pitch(sound: str, lowest: float, highest: float) -> None:
    for seed in range(3):
        assert lowest < loudest_pitch(heard(sound, seed=seed)) < highest


def test_a_whistle_rises_all_the_way() -> None:
    pitches = [loudest_pitch(part) for part in np.array_split(heard("whistle"), 8)]

    assert pitches == sorted(pitches)
    assert pitches[-1] > 2.5 * pitches[0]


def test_ticks_are_noise_in_short_strokes() -> None:
    track = heard("tick")
    loud = np.abs(track) > 0.05

    assert spectrum_flatness(track) > 0.1
    assert loud.mean() < 0.15
    assert all(spectrum_flatness(heard(sound)) < 0.05 for sound in SOUNDS if sound != "tick")


def test_a_drum_falls_silent_between_beats_and_a_hum_never() -> None:
    def quietest(track: Wave) -> float:
        return min(float(np.sqrt(np.mean(part**2))) for part in np.array_split(track, 60))

    assert quietest(heard("drum")) < 0.1 * LOUDNESS
    assert quietest(heard("hum")) > 0.5 * LOUDNESS
