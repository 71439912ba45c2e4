"""Networks of torchvision and pytorchvideo by name: their own preprocessing, taps by module name, clear refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torchvision.models import get_model, get_model_weights

from extractors import clips
from extractors.base import ExtractorError, MissingPackageError, UnknownOutputError
from extractors.parts import video_networks
from extractors.parts.published import kylemin_s3d
from extractors.parts.windows import WindowExtractor
from pipeline.core.errors import MissingToolError
from pipeline.extraction.build_extractor import extractor_of
from pipeline.params.extract import Extract, Sampling
from tests.extractors.published_s3d import S3d

TORCHVISION = [  # network, window, tap, shape of a row, shape of pool
    ("r3d_18", 16, "layer4", (2, 7, 7, 512), (512,)),
    ("mc3_18", 8, "layer3", (8, 14, 14, 256), (512,)),
    ("r2plus1d_18", 8, "layer2", (4, 28, 28, 128), (512,)),
    ("s3d", 16, "features", (2, 7, 7, 1024), (1024,)),
    ("mvit_v2_s", 16, "blocks.3", (1 + 8 * 14 * 14, 384), (768,)),
    ("swin3d_t", 8, "features.6", (4, 7, 7, 768), (768,)),
]
PYTORCHVIDEO = [
    ("slow_r50", 8, "blocks.4", (8, 8, 8, 2048), (2048,)),
    ("c2d_r50", 8, "blocks.5", (4, 8, 8, 2048), (2048,)),
    ("i3d_r50", 8, "blocks.5", (4, 8, 8, 2048), (2048,)),
    ("r2plus1d_r50", 16, "blocks.4", (4, 8, 8, 2048), (2048,)),
    ("csn_r101", 32, "blocks.4", (4, 8, 8, 2048), (2048,)),
    ("x3d_xs", 4, "blocks.4", (4, 6, 6, 192), (2048,)),
    ("x3d_s", 13, "blocks.4", (13, 6, 6, 192), (2048,)),
    ("mvit_base_16x4", 16, "blocks.4", (1 + 8 * 14 * 14, 384), (768,)),
]


@pytest.fixture(scope="module")
def r3d() -> WindowExtractor:
    return clips.build("torchvision:r3d_18", outputs=["pool", "layer3", "layer4"], weights=None, window=8)


@pytest.mark.parametrize(("name", "window", "tap", "shape", "pool"), TORCHVISION)
def test_torchvision(name: str, window: int, tap: str, shape: tuple[int, ...], pool: tuple[int, ...]) -> None:
    extractor = clips.build(f"torchvision:{name}", outputs=["pool", tap], weights=None, window=window)

    assert extractor.outputs == {"pool": pool, tap: shape}


@pytest.mark.parametrize(("name", "window", "tap", "shape", "pool"), PYTORCHVIDEO)
def test_pytorchvideo(name: str, window: int, tap: str, shape: tuple[int, ...], pool: tuple[int, ...]) -> None:
    pytest.importorskip("pytorchvideo")
    extractor = clips.build(f"pytorchvideo:{name}", outputs=["pool", tap], weights=None, window=window)

    assert extractor.outputs == {"pool": pool, tap: shape}


def test_pool_is_the_classifiers_input_and_a_tap_the_modules_output(r3d: WindowExtractor) -> None:
    torch.manual_seed(0)
    clip = torch.randn(1, 8, 3, 112, 112)
    rows = r3d(clip)

    with torch.inference_mode():
        model = r3d.network.model
        logits = model(clip.transpose(1, 2))
        torch.testing.assert_close(model.fc(rows["pool"]), logits)
        torch.testing.assert_close(model.layer4(rows["layer3"].permute(0, 4, 1, 2, 3)), rows["layer4"].movedim(-1, 1))


def test_maps_that_have_channels_last_are_left_so() -> None:
    """Swin's stages do; as if channels came second, they would be scrambled."""
    extractor = clips.build("torchvision:swin3d_t", outputs=["norm", "pool"], weights=None, window=2)
    rows = extractor(torch.randn(1, 2, 3, 224, 224, generator=torch.Generator().manual_seed(0)))

    torch.testing.assert_close(rows["norm"].mean(-1), torch.zeros(1, 1, 7, 7), atol=1e-4, rtol=0)  # over channels
    torch.testing.assert_close(rows["norm"].mean((1, 2, 3)), rows["pool"])


def test_x3d_runs_and_pool_feeds_its_classifier() -> None:
    pytest.importorskip("pytorchvideo")
    extractor = clips.build("pytorchvideo:x3d_xs", outputs=["pool"], weights=None, window=4)
    clip = torch.randn(1, 4, 3, 182, 182, generator=torch.Generator().manual_seed(0))

    pool = extractor(clip)["pool"]

    with torch.inference_mode():
        head = extractor.network.model.blocks[5]
        theirs = extractor.network.model(clip.transpose(1, 2))
        torch.testing.assert_close(torch.softmax(head.proj(pool), 1), theirs, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["r3d_18", "s3d", "swin3d_t"])
def test_preprocessing_is_the_librarys_own(name: str) -> None:
    picture = np.random.default_rng(0).integers(0, 256, size=(240, 320, 3), dtype=np.uint8)
    published = next(iter(get_model_weights(name))).transforms()
    frame = torch.from_numpy(picture).permute(2, 0, 1)

    found = video_networks.torchvision_network(name)[1](picture)

    torch.testing.assert_close(found, published(frame[None])[:, 0], rtol=1e-4, atol=1e-4)


def test_pytorchvideos_normalisation() -> None:
    pytest.importorskip("pytorchvideo")
    prepare = video_networks.pytorchvideo_network("x3d_xs")[1]

    white = prepare(np.full((200, 300, 3), 255, np.uint8))

    assert white.shape == (3, 182, 182)
    assert white[:, 9, 9].tolist() == pytest.approx([(1 - 0.45) / 0.225] * 3)


@pytest.mark.parametrize("checkpoint", [lambda state: state, lambda state: {"model_state": state, "epoch": 3}])
def test_published_states_load_strictly(checkpoint) -> None:
    torch.manual_seed(5)
    theirs = get_model("r3d_18", weights=None)

    state = clips.map_published(checkpoint(theirs.state_dict()))
    extractor = clips.build("torchvision:r3d_18", outputs=["pool"], weights=state)

    torch.testing.assert_close(extractor.network.model.fc.weight, theirs.fc.weight)


def test_kylemins_s3d_is_torchvisions_with_his_pictures() -> None:
    """Pixels from 0 to 1, short side 224: what his network was trained on."""
    torch.manual_seed(5)
    theirs = S3d().eval()
    for name, tensor in theirs.named_buffers():
        if name.endswith("var"):
            tensor.uniform_(0.05, 0.15)  # else an untrained network gets quieter with every layer
        if name.endswith("mean"):
            tensor.uniform_(-0.1, 0.1)
    frame = np.random.default_rng(0).integers(0, 256, size=(224, 300, 3), dtype=np.uint8)
    state = kylemin_s3d.map_published(theirs.state_dict())
    extractor = clips.build("torchvision:s3d", outputs=["pool"], weights=state, window=16, published="kylemin")

    clip = torch.stack([extractor.prepare(frame)] * 16)[None]
    with torch.inference_mode():
        expected = theirs(
            torch.from_numpy(frame[:, 38:262]).permute(2, 0, 1)[None, :, None].repeat(1, 1, 16, 1, 1) / 255
        )

    assert float((extractor(clip)["pool"] - expected).norm() / expected.norm()) < 1e-5
    with pytest.raises(ExtractorError, match="no 'kylemin' of r3d_18; known: s3d: kylemin"):
        clips.build("torchvision:r3d_18", outputs=["pool"], weights=None, published="kylemin")
    with pytest.raises(ExtractorError, match="pytorchvideo's networks have their own weights"):
        clips.build("pytorchvideo:slow_r50", outputs=["pool"], weights=None, published="kylemin")


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("r3d_18", "the network is 'r3d_18'; write LIBRARY:NAME, with one of torchvision, pytorchvideo"),
        ("torchvision:resnet18", "torchvision has no video network 'resnet18'; it has: .*r3d_18"),
        ("pytorchvideo:slowfast_r50", "no network 'pytorchvideo:slowfast_r50' is known; known: .*csn_r101"),
    ],
)
def test_unknown_networks_are_refused(network: str, message: str) -> None:
    with pytest.raises(ExtractorError, match=message):
        clips.build(network, outputs=["pool"], weights=None)


def test_an_unknown_tap_lists_the_modules() -> None:
    with pytest.raises(UnknownOutputError, match=r"r3d_18 has no output \['layer9'\]; it has: pool, .*layer4"):
        clips.build("torchvision:r3d_18", outputs=["layer9"], weights=None)


def test_a_window_that_the_network_cannot_take_is_refused() -> None:
    with pytest.raises(ExtractorError, match="mvit_v2_s does not take windows of 8 frames"):
        clips.build("torchvision:mvit_v2_s", outputs=["pool"], weights=None, window=8)


def test_a_window_shorter_than_the_last_pooling_is_refused() -> None:
    pytest.importorskip("pytorchvideo")
    with pytest.raises(ExtractorError, match="x3d_s does not take windows of 4 frames"):
        clips.build("pytorchvideo:x3d_s", outputs=["pool"], weights=None, window=4)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytorchvideo.models.hub", None)

    with pytest.raises(MissingPackageError, match="pytorchvideo:slow_r50 needs the package pytorchvideo"):
        clips.build("pytorchvideo:slow_r50", outputs=["pool"], weights=None, window=8)
    params = Extract(
        family="clips",
        network="pytorchvideo:slow_r50",
        weights="random",
        sampling=Sampling(window=8, stride=8),
    )
    with pytest.raises(MissingToolError, match=r"pip install 'framescribe\[pytorchvideo\]'"):
        extractor_of(params, device="cpu")


def test_pytorchvideo_is_imported_without_its_makers_warnings() -> None:
    code = "from extractors.parts.video_networks import pytorchvideo_hub; pytorchvideo_hub('x3d_xs')"
    subprocess.run([sys.executable, "-W", "error::FutureWarning", "-c", code], check=True)
