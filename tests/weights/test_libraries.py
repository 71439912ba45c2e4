"""Weights of any network of a library by its name: the library's own address, proof, licence and preprocessing."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save
from torchvision.models import get_model_weights, list_models

from pipeline.cli import main
from pipeline.core.errors import MissingToolError, UsageError
from pipeline.extraction.build_extractor import extractor_of, options_of
from pipeline.params.extract import Extract, Sampling
from pipeline.weights import conditions, converted_path, entry, how_to_get, import_files, load_weights, status
from pipeline.weights.libraries import published
from tests.weights.conftest import Register
from tests.weights.making import published as torchs_file

ZOOS = "detectron2:COCO-InstanceSegmentation/mask_rcnn_R_50_FPN_3x"
TINY = "timm:test_resnet.r160_in1k"


def params(network: str, weights: str, **changes: object) -> Extract:
    family = "csn" if network.startswith("ir_csn") else "frames"
    rule = Sampling(window=32, stride=32) if family == "csn" else Sampling(every=5)
    return Extract(family=family, network=network, weights=weights, sampling=rule, **changes)


@pytest.mark.parametrize("name", [name for name in list_models() if not name.startswith("quantized")])
def test_torchvisions_first_file_is_the_one_without_an_edition(name: str) -> None:
    source, first = entry(f"torchvision:{name}").sources[0], next(iter(get_model_weights(name)))

    assert (source.url, source.mebibytes) == (first.url, first.meta["_file_size"])
    assert source.sha256_prefix
    assert f"-{source.sha256_prefix}." in first.url


def test_an_edition_brings_its_own_preprocessing() -> None:
    weights = "torchvision:resnet50.IMAGENET1K_V2"
    own = get_model_weights("resnet50").IMAGENET1K_V2

    assert entry(weights).sources[0].url == own.url
    assert options_of(params("resnet50", weights)) == {"published": "IMAGENET1K_V2"}
    built = extractor_of(params("resnet50", "random", options={"published": "IMAGENET1K_V2"}), device="cpu")
    assert built.preprocessing["resize_short_side"] == own.transforms().resize_size[0] == 232


@pytest.mark.parametrize(
    ("network", "weights", "asked"),
    [
        ("torchvision:resnet152", "resnet152", {}),
        ("torchvision:resnet152", "resnet152_v2", {"published": "IMAGENET1K_V2"}),
        ("ir_csn152", "ir_csn152", {}),
        ("ir_csn152", "ir_csn152_ig65m", {"normalisation": "mmaction2"}),
    ],
)
def test_preprocessing_travels_with_the_weights(network: str, weights: str, asked: dict[str, str]) -> None:
    assert options_of(params(network, weights)) == asked


def test_params_have_the_last_word_and_a_family_without_the_option_is_left_alone() -> None:
    said = params("ir_csn152", "ir_csn152_ig65m", options={"normalisation": "vmz"})
    elsewhere = Extract(family="flow", network="tvl1", weights="resnet152_v2", sampling=Sampling(every=5))

    assert options_of(said) == {"normalisation": "vmz"}
    assert options_of(elsewhere) == {}


def test_timms_file_is_on_the_hub_under_a_name_of_its_own() -> None:
    source = entry("timm:inception_v4").sources[0]

    assert source.url == "https://huggingface.co/timm/inception_v4.tf_in1k/resolve/main/model.safetensors"
    assert (source.file_name, source.layout) == ("inception_v4.tf_in1k.safetensors", "safetensors")


def test_pytorchvideos_address_is_the_one_of_its_hub() -> None:
    pytest.importorskip("pytorchvideo", reason="the extra `pytorchvideo` is not installed")

    assert entry("pytorchvideo:csn_r101").sources[0].url == entry("csn_r101").sources[0].url


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stand-in with the zoo's own function: the package is on no registry."""
    zoo = ModuleType("detectron2.model_zoo")
    zoo.get_checkpoint_url = lambda config: f"https://zoo.example/{config.removesuffix('.yaml')}/1/model_final.pkl"
    monkeypatch.setitem(sys.modules, "detectron2", ModuleType("detectron2"))
    monkeypatch.setitem(sys.modules, "detectron2.model_zoo", zoo)
    yield
    published.cache_clear()


def test_the_zoo_of_detectron2_is_asked_where_it_is_installed(zoo: None) -> None:
    found = entry(ZOOS)

    assert (
        found.sources[0].url == "https://zoo.example/COCO-InstanceSegmentation/mask_rcnn_R_50_FPN_3x/1/model_final.pkl"
    )
    assert (found.mapping, found.sources[0].layout) == ("detectron", "arrays")


@pytest.mark.parametrize("detector", [ZOOS, "torchvision:maskrcnn_resnet50_fpn_v2"])
def test_a_bundle_can_have_another_detector(detector: str, zoo: None) -> None:
    found = entry(f"vatex_regions:{detector}")

    assert found.parts == {detector: "detector.", "resnext101_32x8d": "image.", "ir_csn152": "motion."}
    assert {*found.licence.split(", ")} == {"Apache-2.0", "BSD-3-Clause"}
    assert entry(detector).sources[0].url in how_to_get(f"vatex_regions:{detector}", folder=Path("weights"))


def test_a_bundle_with_a_detector_of_the_zoo_is_one_file(
    zoo: None, register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures.pth").write_bytes(data := torchs_file({"a": torch.zeros(3)}))
    register("pictures", data)
    register("pair", b"", sources=(), parts={"yolov4_tiny": "detector.", "pictures": "image."})
    (tmp_path / "model_final.pkl").write_bytes(pickle.dumps({"model": {"b": (ones := np.ones(2, np.float32))}}))

    import_files(f"pair:{ZOOS}", [tmp_path / "model_final.pkl", tmp_path / "pictures.pth"])

    assert {*load_weights(f"pair:{ZOOS}")} == {"detector.b", "image.a"}
    assert main(["weights", "verify"]) == 0
    file = converted_path(ZOOS)
    file.write_bytes(file.read_bytes().replace(ones.tobytes(), (2 * ones).tobytes()))
    assert main(["weights", "verify"]) == 6


@pytest.mark.skipif(find_spec("detectron2") is not None, reason="detectron2 is installed")
def test_without_detectron2_its_weights_say_what_is_missing() -> None:
    with pytest.raises(MissingToolError, match="needs detectron2, built from its sources"):
        entry("detectron2:COCO-Detection/faster_rcnn_R_50_FPN_3x")


@pytest.mark.parametrize(
    "name", ["timm:convnextv2_tiny.fcmae_ft_in22k_in1k", "torchvision:vit_b_16.IMAGENET1K_SWAG_E2E_V1"]
)
def test_licences_with_conditions_are_shown(name: str) -> None:
    assert conditions(name)
    assert not conditions("timm:resnet18")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torchvision:resnet5", "torchvision has no 'resnet5'; close to it: resnet50"),
        ("torchvision:resnet50.V3", "torchvision:resnet50 has no 'V3'; close to it: IMAGENET1K_V1, IMAGENET1K_V2"),
        ("timm:convnet_tiny", "timm has no 'convnet_tiny'; close to it: convnext_tiny"),
        ("timm:resnet18.a9_in1k", "timm:resnet18 has no 'a9_in1k'; close to it: (a._in1k, )*a1_in1k"),
        ("timm:coatnet_0_224", "timm publishes no weights of 'coatnet_0_224'"),
        ("pytorchvideo:slow_r51", "pytorchvideo has no 'slow_r51'; close to it: slow_r50"),
        ("keras:vgg16", "no library 'keras' publishes weights; known: timm, torchvision, pytorchvideo, detectron2"),
        ("vatex_regions:torchvision:maskrcnn", "torchvision has no 'maskrcnn'"),
        ("i3d_rgb:torchvision:maskrcnn_resnet50_fpn", "'i3d_rgb' is no bundle with a detector to exchange"),
        ("resnet5", "no weights are called 'resnet5'"),
    ],
)
def test_a_misspelt_name_is_answered_with_close_ones(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        entry(name)


def test_a_file_from_the_hub_becomes_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(3)
    model = timm.create_model("test_resnet").eval()
    file = tmp_path / entry(TINY).sources[0].file_name
    file.write_bytes(save(model.state_dict()))

    import_files(TINY, [file])
    extractor = extractor_of(params("timm:test_resnet", TINY), device="cpu")

    batch = torch.randn(1, 3, 160, 160)
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(batch), pre_logits=True)
    assert status(TINY) == "present"
    assert extractor.preprocessing["centre_crop"] == 160
    torch.testing.assert_close(extractor(batch)["pool"], expected, rtol=1e-4, atol=1e-5)
