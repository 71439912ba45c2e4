"""OpenL3: both published front ends against plain sums, the shapes of every variant, and the published names."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from extractors import openl3
from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts import decibels
from tests.extractors.published_sounds import as_keras, openl3_state

SHAPES = {"linear": (257, 197), "mel128": (128, 199), "mel256": (256, 199)}


def noise(seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(scale=0.1, size=decibels.RATE))


def sine(frequency: float) -> Tensor:
    return torch.sin(2 * math.pi * frequency * torch.arange(decibels.RATE, dtype=torch.float64) / decibels.RATE)


def spectrum(samples: np.ndarray, start: int, size: int) -> np.ndarray:
    """The magnitudes of one frame by the plain Fourier sum; zeros before the first sample and after the last."""
    places = np.arange(start, start + size)
    inside = (places >= 0) & (places < len(samples))
    frame = np.where(inside, samples[np.clip(places, 0, len(samples) - 1)], 0.0)
    frame = frame * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size))
    waves = np.exp(-2j * np.pi * np.outer(np.arange(size // 2 + 1), np.arange(size)) / size)
    return np.abs(waves @ frame)


@pytest.mark.parametrize("generation", decibels.GENERATIONS)
@pytest.mark.parametrize("representation", SHAPES)
def test_front_ends_have_the_published_shapes_and_range(representation: str, generation: str) -> None:
    found = decibels.spectrogram(noise(), representation, generation=generation)

    assert found.shape == SHAPES[representation]
    assert found.max() == 0
    assert found.min() >= -80
    silence = decibels.spectrogram(torch.zeros(48_000, dtype=torch.float64), representation, generation=generation)
    assert not silence.any()  # as loud everywhere as its loudest point


@pytest.mark.parametrize(
    ("generation", "first"),
    [("v0.3", -982), ("v0.4", 0)],  # 1,964 zeros: half of them before the sound, or all after it
)
def test_mel_frames_against_plain_sums(generation: str, first: int) -> None:
    """Differences between two frames, so that the loudest point, which all are relative to, plays no part."""
    sound = noise(1)
    bands = decibels.mel_matrix(256, size=2048, htk=generation == "v0.3").numpy()
    levels = []
    for frame in (0, 100, 198):
        magnitudes = spectrum(sound.numpy(), first + frame * 242, 2048)
        amplitudes = np.sqrt(bands @ magnitudes**2) if generation == "v0.3" else bands @ magnitudes
        levels.append(10 * np.log10(np.maximum(amplitudes, 1e-10)))
    found = decibels.spectrogram(sound, "mel256", generation=generation).numpy()

    np.testing.assert_allclose(found[:, 100] - found[:, 0], levels[1] - levels[0], atol=1e-6)
    np.testing.assert_allclose(found[:, 198] - found[:, 0], levels[2] - levels[0], atol=1e-6)


def test_linear_frames_against_plain_sums() -> None:
    sound = noise(2)
    levels = [10 * np.log10(spectrum(sound.numpy(), frame * 242, 512)) for frame in (0, 196)]
    found = decibels.spectrogram(sound, "linear", generation="v0.3").numpy()

    np.testing.assert_allclose(found[:, 196] - found[:, 0], levels[1] - levels[0], atol=1e-6)


def test_the_generations_differ_in_mel_only() -> None:
    for representation in SHAPES:
        old, new = (decibels.spectrogram(noise(), representation, generation=each) for each in decibels.GENERATIONS)
        assert torch.equal(old, new) == (representation == "linear")


def test_mel_scales() -> None:
    """Slaney's scale as librosa documents it for 40 bands up to 11,025 Hz; HTK's 1 kHz is 1,000 mel."""
    edges = decibels.mel_edges(38, highest=11_025.0, htk=False)
    documented = [0.0, 85.317, 170.635, 255.952, 341.269, 426.586, 511.904, 597.221, 682.538, 767.855, 853.173, 938.49]
    np.testing.assert_allclose(edges[:12], documented, atol=6e-4)
    np.testing.assert_allclose(edges[[12, 13, -2, -1]], [1024.856, 1119.114, 10096.408, 11025.0], atol=6e-4)
    htk = decibels.mel_edges(98, highest=24_000.0, htk=True)
    mels = 2595 * torch.log10(1 + htk / 700)
    np.testing.assert_allclose(torch.diff(mels), (mels[-1] / 99).item(), rtol=1e-9)
    assert 2595 * math.log10(1 + 1000 / 700) == pytest.approx(1000, abs=0.1)


@pytest.mark.parametrize("htk", [True, False])
def test_mel_bands_have_area_one(htk: bool) -> None:
    matrix = decibels.mel_matrix(128, size=2048, htk=htk)

    assert matrix.shape == (128, 1025)
    np.testing.assert_allclose(matrix[60:].sum(1) * 48_000 / 2048, 1, rtol=0.02)


@pytest.mark.parametrize("generation", decibels.GENERATIONS)
def test_a_tone_is_in_its_band(generation: str) -> None:
    edges = decibels.mel_edges(256, highest=24_000.0, htk=generation == "v0.3")
    band = int(decibels.spectrogram(sine(3000.0), "mel256", generation=generation)[:, 100].argmax())

    assert edges[band] < 3000 < edges[band + 2]


@pytest.mark.parametrize("size", [512, 6144])
@pytest.mark.parametrize("representation", SHAPES)
def test_every_variant_has_its_size_flattened_with_channels_last(representation: str, size: int) -> None:
    """The last maps are 32 x 24 (mel128: 16 x 24); 6144 is 4 x 3 places of 512 channels, place after place."""
    network = openl3.OpenL3(representation, size).eval()
    poolings = torch.nn.Sequential(*(torch.nn.MaxPool2d(2) for _ in openl3.POOLED_AFTER))
    with torch.inference_mode():
        maps = poolings(torch.rand(1, 1, *SHAPES[representation]))
        assert maps.shape[2:] == ((16, 24) if representation == "mel128" else (32, 24))
        maps = torch.rand(1, 512, *maps.shape[2:])
        high, wide = network.pool
        places = [
            maps[:, :, row : row + high, column : column + wide].amax((2, 3))
            for row in range(0, maps.shape[2], high)
            for column in range(0, maps.shape[3], wide)
        ]
        pooled = F.max_pool2d(maps, network.pool)

    assert torch.cat(places, 1).shape == (1, size)
    assert torch.equal(torch.cat(places, 1), openl3.channels_last(pooled))
    if size == 6144:
        assert not torch.equal(torch.cat(places, 1), pooled.flatten(1))  # a bare flatten


@pytest.fixture(scope="module")
def published() -> dict[str, Tensor]:
    return openl3_state()


def test_published_files_load_strictly(published: dict[str, Tensor]) -> None:
    state = openl3.map_published(published)
    network = openl3.OpenL3("mel256", 512)

    network.load_state_dict(state)
    assert torch.equal(network.convs[7].weight, published["audio_embedding_layer.weight"])
    assert torch.equal(network.norms[7].running_mean, published["batch_normalization_8.running_mean"])
    for first in (0, 1, 9):  # with 9, conv2d_10 comes after conv2d_9
        keras = openl3.map_published(as_keras(published, first=first))
        assert keras.keys() == state.keys()
        same = [name for name in state if not name.endswith("tracked")]
        assert all(torch.equal(keras[name], state[name]) for name in same)


def test_the_network_layer_by_layer(published: dict[str, Tensor]) -> None:
    """Norm, then convolution, norm, ReLU; pooling after every second; nothing after the last convolution."""
    network = openl3.OpenL3("mel128", 6144).eval()
    network.load_state_dict(openl3.map_published(published))
    picture = -80 * torch.rand(1, 1, 64, 64)
    maps = picture
    with torch.inference_mode():
        for number in range(1, 9):
            kinds = ("weight", "bias", "running_mean", "running_var")
            norm = [published[f"batch_normalization_{number}.{kind}"][:, None, None] for kind in kinds]
            maps = (maps - norm[2]) / torch.sqrt(norm[3] + 1e-3) * norm[0] + norm[1]
            if number > 1:
                maps = maps.relu()
            if number in (3, 5, 7):
                maps = F.max_pool2d(maps, 2)
            conv = f"conv2d_{number}" if number < 8 else "audio_embedding_layer"
            maps = F.conv2d(maps, published[f"{conv}.weight"], published[f"{conv}.bias"], padding="same")
        expected = F.max_pool2d(maps, (4, 8)).permute(0, 2, 3, 1).flatten(1)
        torch.testing.assert_close(network(picture), expected, rtol=1e-4, atol=1e-4)


def test_rows_are_centred_or_not() -> None:
    centred = openl3.build("mel256_env", outputs=["pool"], weights=None)
    plain = openl3.build("mel256_env", outputs=["pool"], weights=None, center=False)

    assert (centred.rate, centred.window, centred.lead, plain.lead) == (48_000, 48_000, 24_000, 0)
    assert centred.outputs == {"pool": (512,)}
    assert centred.prepare(noise().float().numpy()).shape == (1, 256, 199)


@pytest.mark.slow
def test_one_second_through_the_largest() -> None:
    extractor = openl3.build("linear_music", outputs=["pool"], weights=None, embedding=6144, frontend="v0.3")
    rows = extractor(extractor.prepare(noise().float().numpy())[None])

    assert rows["pool"].shape == (1, 6144)
    assert torch.isfinite(rows["pool"]).all()


def test_settings_that_do_not_exist_are_named() -> None:
    wrong = [
        ({"network": "mel64_env"}, "network is 'mel64_env', allowed: linear_music, linear_env, mel128_music"),
        ({"embedding": 128}, "embedding is '128', allowed: 6144, 512"),
        ({"frontend": "v9"}, "frontend is 'v9', allowed: v0.3, v0.4"),
    ]
    for settings, message in wrong:
        with pytest.raises(ExtractorError, match=message):
            openl3.build(**{"network": "mel256_env", "outputs": ["pool"], "weights": None, **settings})  # type: ignore[arg-type]
    with pytest.raises(UnknownOutputError, match="it has: pool"):
        openl3.build("mel256_env", outputs=["grid"], weights=None)


def test_the_package_gives_what_ours_does() -> None:
    if importlib.util.find_spec("openl3") is None:
        with pytest.raises(ExtractorError, match="needs the package openl3"):
            openl3.build("package/mel256_env", outputs=["pool"], weights={})
        pytest.skip("openl3 is not installed: its set-up downloads weights")
    theirs = openl3.build("package/mel256_env", outputs=["pool"], weights={})
    assert isinstance(theirs, openl3.PackageExtractor)
    layers = {weight.name: weight.numpy() for weight in theirs.model.weights}
    ours = openl3.build("mel256_env", outputs=["pool"], weights=openl3.map_published(layers))
    sound = noise().float().numpy()

    rows = [each(each.prepare(sound)[None])["pool"] for each in (theirs, ours)]
    torch.testing.assert_close(rows[0], rows[1], rtol=1e-3, atol=1e-3)
