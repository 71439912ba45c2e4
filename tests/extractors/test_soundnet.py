"""SoundNet: the authors' layers, the published names, and, with the real weights, sounds that are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from extractors import soundnet
from extractors.base import ExtractorError, UnknownOutputError
from pipeline.demo.sound import wave
from tests.extractors.published_sounds import soundnet_tree

WEIGHTS = Path(__file__).parents[2] / "weights" / "soundnet.safetensors"
SOUNDS = ("bell", "beep", "hum", "tick", "whistle", "drum", "room")


def test_the_published_file_loads_strictly() -> None:
    state = soundnet.map_published(soundnet_tree())

    assert set(state) == set(soundnet.SoundNet().state_dict())
    extractor = soundnet.build("soundnet8", outputs=list(soundnet.OUTPUTS), weights=state)
    assert not [module for module in extractor.network.modules() if isinstance(module, torch.nn.BatchNorm1d)]  # folded
    rows = extractor(torch.zeros(2, 1, extractor.window))
    assert {name: tuple(tensor.shape[1:]) for name, tensor in rows.items()} == extractor.outputs


def test_the_first_layer_against_numpy() -> None:
    """Correlation with the kernel as published, half a kernel of zeros before, every second sample, then the norm."""
    tree = soundnet_tree()
    network = soundnet.SoundNet().eval()
    network.load_state_dict(soundnet.map_published(tree))
    sound = np.random.default_rng(1).normal(size=400).astype(np.float32)
    _, found = next(network(torch.from_numpy(sound)[None, None]))

    first = tree["conv1"]
    for channel in (0, 7, 15):
        plain = np.correlate(np.pad(sound, 32), first["weights"][:, 0, 0, channel], "valid")[::2]
        scaled = (plain + first["biases"][channel] - first["mean"][channel]) / np.sqrt(first["var"][channel] + 1e-5)
        expected = np.maximum(scaled * first["gamma"][channel] + first["beta"][channel], 0)
        np.testing.assert_allclose(found[0, channel].detach().numpy(), expected, atol=1e-4)


def test_twenty_seconds_give_the_four_labels_of_training() -> None:
    """The heads (kernel 8, stride 2, no padding) label four moments of 20 s; without the padding there are fewer."""
    network = soundnet.SoundNet().eval()
    with torch.inference_mode():
        steps = {name: waves.shape[2] for name, waves in network(torch.zeros(1, 1, 20 * soundnet.RATE))}

    assert (steps["conv7"] - 8) // 2 + 1 == 4
    assert list(steps) == ["conv1", "pool1", "conv2", "pool2", "conv3", "conv4", "conv5", "pool5", "conv6", "conv7"]


def test_rows_are_means_over_time() -> None:
    extractor = soundnet.build("soundnet8", outputs=["conv3", "pool", "pool5"], weights=None, seconds=1.0)
    sound = np.random.default_rng(0).uniform(-1, 1, extractor.window).astype(np.float32)
    prepared = extractor.prepare(sound)
    with torch.inference_mode():
        layers = dict(extractor.network(prepared[None]))
    rows = extractor(prepared[None])

    assert extractor.window == 22_050
    assert prepared.abs().max() == pytest.approx(256, rel=0.01)
    torch.testing.assert_close(rows["conv3"], layers["conv3"].mean(2))
    torch.testing.assert_close(rows["pool"], layers["pool5"].mean(2))
    torch.testing.assert_close(rows["pool"], rows["pool5"])


def test_settings_that_do_not_exist_are_named() -> None:
    with pytest.raises(UnknownOutputError, match="it has: conv1, conv2"):
        soundnet.build("soundnet8", outputs=["conv9"], weights=None)
    with pytest.raises(ExtractorError, match=r"seconds is 0.1; a window must have at least 0.5"):
        soundnet.build("soundnet8", outputs=["pool"], weights=None, seconds=0.1)


def test_real_features_tell_sounds_apart() -> None:
    """Two clips of every demo sound: of the other clips, the nearest row is of the same sound, whatever its moment."""
    if not WEIGHTS.is_file():
        pytest.skip("the real weights are not here: framescribe weights fetch soundnet")
    extractor = soundnet.build("soundnet8", outputs=["pool"], weights=load_file(WEIGHTS))
    windows, names, clips = [], [], []
    for name in SOUNDS:
        for seed in range(2):
            sound = wave(name, samples=4 * soundnet.RATE, seed=seed)
            assert sound is not None
            for start in (0, 20_000, 40_000):
                windows.append(extractor.prepare(sound[start : start + extractor.window]))
                names.append(name)
                clips.append(f"{name}-{seed}")
    rows = torch.nn.functional.normalize(extractor(torch.stack(windows))["pool"])
    alike, same_clip = rows @ rows.T, np.equal.outer(clips, clips)
    same_sound = torch.from_numpy(np.equal.outer(names, names))
    nearest = alike.masked_fill(torch.from_numpy(same_clip), -1).argmax(1)

    assert [names[place] for place in nearest.tolist()] == names
    assert alike[same_sound].mean() > alike[~same_sound].mean() + 0.2
