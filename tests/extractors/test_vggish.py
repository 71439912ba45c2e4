"""VGGish: the front end to the last digit of the published numbers, and the network's names, order and endings."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from extractors import vggish
from extractors.base import ExtractorError, UnknownOutputError
from pipeline.weights import REGISTRY
from tests.extractors.published_sounds import VGGISH_PORT

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "weights"
# Names and shapes as published: the checkpoint's variables, and the torch port's file
VARIABLES = {
    "vggish/conv1": (3, 3, 1, 64),
    "vggish/conv2": (3, 3, 64, 128),
    "vggish/conv3/conv3_1": (3, 3, 128, 256),
    "vggish/conv3/conv3_2": (3, 3, 256, 256),
    "vggish/conv4/conv4_1": (3, 3, 256, 512),
    "vggish/conv4/conv4_2": (3, 3, 512, 512),
    "vggish/fc1/fc1_1": (12288, 4096),
    "vggish/fc1/fc1_2": (4096, 4096),
    "vggish/fc2": (4096, 128),
}


def sine() -> np.ndarray:
    """The reference's own smoke test: three seconds of 1 kHz."""
    return np.sin(2 * np.pi * 1000 * np.arange(0, 3, 1 / vggish.RATE))


def patches(samples: np.ndarray) -> Tensor:
    """(patches, 96, 64), as the reference cuts them: 96 frames every 96, none that is incomplete."""
    frames = vggish.log_mel(samples)
    return frames[: len(frames) // 96 * 96].reshape(-1, 96, 64)


@pytest.fixture(scope="module")
def network() -> vggish.Vggish:
    torch.manual_seed(1)
    return vggish.Vggish(with_pca=True).eval()


def test_the_front_end_gives_the_published_numbers() -> None:
    found = patches(sine())

    assert vggish.log_mel(sine()).shape == (298, 64)
    assert found.shape == (3, 96, 64)
    assert found.mean().item() == pytest.approx(-3.4296187, abs=1e-7)
    assert found.std(correction=0).item() == pytest.approx(2.1265773, abs=1e-7)
    assert found.min().item() == pytest.approx(-4.60116305, abs=1e-8)
    assert found.max().item() == pytest.approx(4.81111773, abs=1e-8)
    assert (vggish.log_mel(sine()).argmax(1) == 19).all()
    expected = [-4.48313252, -4.27083405, -4.17064267, -4.23770552, -4.47501975]
    np.testing.assert_allclose(found[0, 0, :5], expected, atol=1e-8)
    expected = [-0.14771684, 2.69300255, 4.81111773, 4.7750444, 2.26221533]
    np.testing.assert_allclose(found[0, 0, 17:22], expected, atol=1e-8)


def test_the_mel_matrix() -> None:
    matrix = vggish.mel_matrix()

    assert matrix.shape == (257, 64)
    assert int((matrix != 0).sum()) == 461
    assert matrix.sum().item() == pytest.approx(230.9135992, abs=1e-7)
    assert not matrix[0].any()


def test_silence_is_the_logarithm_of_the_offset() -> None:
    np.testing.assert_allclose(vggish.log_mel(np.zeros(vggish.WINDOW)), math.log(0.01), atol=1e-12)


def test_one_patch_needs_15600_samples() -> None:
    assert vggish.WINDOW == 15_600
    assert [len(patches(np.zeros(samples))) for samples in (15_360, 15_599, 15_600)] == [0, 0, 1]


def test_windows_of_a_long_sound_are_its_patches(network: vggish.Vggish) -> None:
    """Rows every 0.96 s, each of 15,600 samples, are the patches of the whole sound cut into frames once."""
    sound = np.random.default_rng(0).normal(size=3 * 16_000).astype(np.float32) / 8
    extractor = vggish.VggishExtractor(network, outputs=["pool"], activation="raw", device="cpu")
    rows = [extractor.prepare(sound[start : start + vggish.WINDOW]) for start in range(0, 2 * 15_360 + 1, 15_360)]

    torch.testing.assert_close(torch.cat(rows).double(), patches(sound), rtol=0, atol=1e-6)


def test_the_map_is_flattened_with_channels_last(network: vggish.Vggish) -> None:
    """A bare flatten has the same shape and other numbers."""
    batch = torch.rand(2, 1, 96, 64)
    with torch.inference_mode():
        maps = network.features(batch)
        places = torch.stack([maps[:, :, h, w] for h in range(6) for w in range(4)], 1)  # (B, 24, 512)
        expected, bare = network.embeddings(places.flatten(1)), network.embeddings(maps.flatten(1))

        torch.testing.assert_close(network(batch), expected)
        assert not torch.allclose(network(batch), bare, atol=1e-4)


def test_convolutions_are_padded_and_pooled_as_published(network: vggish.Vggish) -> None:
    maps = batch = torch.rand(1, 1, 96, 64)
    weights = dict(network.named_parameters())
    with torch.inference_mode():
        for name, pooled in zip(list(VGGISH_PORT)[:6], (True, True, False, True, False, True), strict=True):
            maps = F.conv2d(maps, weights[f"{name}.weight"], weights[f"{name}.bias"], padding="same").relu()
            maps = F.max_pool2d(maps, 2) if pooled else maps
        torch.testing.assert_close(network.features(batch), maps)
    assert maps.shape == (1, 512, 6, 4)


def test_both_published_layouts_load_strictly_and_agree() -> None:
    """The same numbers under the checkpoint's names and under the port's give the same state."""
    numbers = np.random.default_rng(0)
    variables: dict[str, np.ndarray] = {}
    port: dict[str, Tensor] = {}
    for (theirs, shape), ours in zip(VARIABLES.items(), VGGISH_PORT, strict=True):
        kernel = numbers.standard_normal(shape, np.float32)
        bias = numbers.standard_normal(shape[-1], np.float32)
        variables |= {f"{theirs}/weights": kernel, f"{theirs}/biases": bias}
        turned = kernel.transpose(3, 2, 0, 1) if kernel.ndim == 4 else kernel.T
        port |= {f"{ours}.weight": torch.from_numpy(turned), f"{ours}.bias": torch.from_numpy(bias)}
    assert {name: tuple(port[f"{name}.weight"].shape) for name in VGGISH_PORT} == VGGISH_PORT

    from_checkpoint, from_port = vggish.map_published(variables), vggish.map_published(port)

    assert from_checkpoint.keys() == from_port.keys()
    assert all(torch.equal(from_checkpoint[name], from_port[name]) for name in from_port)
    extractor = vggish.build("vggish", outputs=["pool"], weights=from_checkpoint)
    assert extractor.outputs == {"pool": (128,)}


def test_the_bundle_with_pca_is_the_whole_state() -> None:
    expected = set(vggish.Vggish(with_pca=True).state_dict())
    network = {f"{name}.{kind}" for name in VGGISH_PORT for kind in ("weight", "bias")}
    assert REGISTRY["vggish_quantised"].parts == {"vggish": "", "vggish_pca": "post."}
    assert network | {"post.pca_eigen_vectors", "post.pca_means"} == expected


def test_pca_has_one_shape_in_either_published_file() -> None:
    matrix, means = torch.rand(128, 128), torch.rand(128)
    for names in (
        {"pca_eigen_vectors": matrix.numpy(), "pca_means": means.numpy()},
        {"pca_eigen_vectors": matrix, "pca_means": means.reshape(-1, 1)},
    ):
        state = vggish.map_published(names)
        assert torch.equal(state["pca_eigen_vectors"], matrix)
        assert torch.equal(state["pca_means"], means)


def test_what_the_last_layer_gives(network: vggish.Vggish) -> None:
    state = network.state_dict()
    numbers = np.random.default_rng(0)
    matrix, means = numbers.normal(size=(128, 128)).astype(np.float32), numbers.normal(size=128).astype(np.float32)
    state |= {"post.pca_eigen_vectors": torch.from_numpy(matrix), "post.pca_means": torch.from_numpy(means)}
    batch = torch.rand(3, 1, 96, 64)
    rows = {
        name: vggish.build("vggish", outputs=["pool"], weights=state, activation=name)(batch)["pool"]
        for name in vggish.ACTIVATIONS
    }

    assert (rows["raw"] < 0).any()
    torch.testing.assert_close(rows["relu"], rows["raw"].clamp(min=0))
    projected = np.stack([matrix @ (row - means) for row in rows["raw"].numpy()])
    expected = np.round((np.clip(projected, -2, 2) + 2) * (255 / 4))
    assert np.abs(rows["pca"].numpy() - expected).max() <= 1  # a value on the edge may fall to either side
    assert (rows["pca"].numpy() == expected).mean() > 0.99
    assert ((rows["pca"] >= 0) & (rows["pca"] <= 255)).all()


def test_pca_without_its_file_is_refused(network: vggish.Vggish) -> None:
    state = {name: tensor for name, tensor in network.state_dict().items() if not name.startswith("post.")}
    with pytest.raises(ExtractorError, match="needs the weights 'vggish_quantised'"):
        vggish.build("vggish", outputs=["pool"], weights=state, activation="pca")


def test_the_published_pca_file() -> None:
    path = SHARED / "vggish_pca_params.npz"
    if not path.is_file():
        pytest.skip("the published pca file is not beside the project")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == REGISTRY["vggish_pca"].sources[0].sha256
    with np.load(path, allow_pickle=False) as arrays:
        state = vggish.map_published(dict(arrays))

    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == {
        "pca_eigen_vectors": (128, 128),
        "pca_means": (128,),
    }
    assert state["pca_means"].mean().item() == pytest.approx(-0.157494, abs=1e-6)
    assert state["pca_eigen_vectors"].std(correction=0).item() == pytest.approx(0.759199, abs=1e-5)


def test_settings_that_do_not_exist_are_named() -> None:
    with pytest.raises(UnknownOutputError, match="it has: pool"):
        vggish.build("vggish", outputs=["fc9"], weights=None)
    with pytest.raises(ExtractorError, match="activation is 'tanh', allowed: raw, relu, pca"):
        vggish.build("vggish", outputs=["pool"], weights=None, activation="tanh")


def test_the_reference_smoke_test() -> None:
    """With the published weights: mean 0.000657 and deviation 0.343 before the activation, to 10 per cent."""
    path = Path(__file__).parents[2] / "weights" / "vggish.safetensors"
    if not path.is_file():
        pytest.skip("the published weights are not here: framescribe weights import vggish FILE")
    extractor = vggish.build("vggish", outputs=["pool"], weights=load_file(path))
    rows = extractor(patches(sine()).float()[:, None])["pool"]

    assert rows.mean().item() == pytest.approx(0.000657, rel=0.1)
    assert rows.std(correction=0).item() == pytest.approx(0.343, rel=0.1)
