"""Image networks by name: declared shapes, the library's own numbers and preprocessing, and clear refusals."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
import timm
import torch
import torchvision
from PIL import Image
from timm.data import create_transform, resolve_data_config
from torchvision.models import WeightsEnum, get_model, get_model_weights, list_models

from extractors import frames
from extractors.base import RANDOM_SEED, ExtractorError, UnknownOutputError

SMALL = re.compile(r"(atto|femto|pico|nano|tiny|_xxs|_050|_035|18$|x0_5|lite0|_s1$)")
BIG = re.compile(r"(384|448|512|in22|dino|clip|siglip|naflex)")
RANDOM = random.Random(0)
TIMM = RANDOM.sample([name for name in timm.list_models() if SMALL.search(name) and not BIG.search(name)], 8)
# Transformers have a test of their own; regnet and mnasnet cannot be made without memory
SLOW = re.compile(r"(vit_|regnet|mnasnet|101|152|161|169|201|_[bl]$|large|_b[3-7])")
TORCHVISION = RANDOM.sample([name for name in list_models(module=torchvision.models) if not SLOW.search(name)], 5)


def blank(network: str, outputs: list[str]) -> frames.FrameExtractor:
    """Without memory and arithmetic: shapes only."""
    with torch.device("meta"):
        return frames.build(network, outputs=outputs, weights=None, device="meta")


def picture(height: int = 300, width: int = 400) -> np.ndarray:
    """Smooth and noisy, as pictures are."""
    noise = np.random.default_rng(0).integers(0, 60, (height, width, 3))
    slope = np.linspace(0, 190, width)[None, :, None] + np.zeros((height, 1, 3))
    return (slope + noise).astype(np.uint8)


@pytest.mark.parametrize(
    ("network", "shapes"),
    [
        (
            "timm:inception_v4",
            {
                "pool": (1536,),
                "grid": (8, 8, 1536),
                "features.0": (149, 149, 32),
                "features.2": (147, 147, 64),
                "features.3": (73, 73, 160),
                "features.4": (71, 71, 192),
                "features.5": (35, 35, 384),
                "features.9": (35, 35, 384),
                "features.10": (17, 17, 1024),
                "features.17": (17, 17, 1024),
                "features.18": (8, 8, 1536),
            },
        ),
        ("torchvision:resnet152", {"grid": (7, 7, 2048), "pool": (2048,), "layer3": (14, 14, 1024)}),
        ("resnext101_32x8d", {"grid": (7, 7, 2048), "pool": (2048,)}),
        ("timm:vit_tiny_patch16_224", {"grid": (14, 14, 192), "pool": (192,), "blocks.3": (14, 14, 192)}),
        ("timm:swin_tiny_patch4_window7_224", {"grid": (7, 7, 768), "pool": (768,), "layers.1": (28, 28, 192)}),
        ("torchvision:swin_t", {"grid": (7, 7, 768), "pool": (768,), "features.1": (56, 56, 96)}),
        ("torchvision:vit_b_16", {"pool": (768,)}),
    ],
)
def test_shapes(network: str, shapes: dict[str, tuple[int, ...]]) -> None:
    assert blank(network, list(shapes)).outputs == shapes


@pytest.mark.parametrize("name", TIMM)
def test_a_sample_of_timm_has_the_shapes_that_timm_declares(name: str) -> None:
    with torch.device("meta"):
        model = timm.create_model(name, pretrained=False)
    stages = {stage["module"]: stage for stage in model.feature_info} if hasattr(model, "feature_info") else {}
    maps = {module: stage for module, stage in stages.items() if module in dict(model.named_modules())}
    last = list(maps)[-1:]

    extractor = blank(f"timm:{name}", ["pool", *last])

    assert extractor.outputs["pool"] == (model.head_hidden_size,)
    size = extractor.preprocessing["centre_crop"]
    for module in last:
        *places, channels = extractor.outputs[module]
        assert channels == maps[module]["num_chs"]
        assert np.prod(places) == pytest.approx((size / maps[module]["reduction"]) ** 2, rel=0.35)


@pytest.mark.parametrize("name", TORCHVISION)
def test_a_sample_of_torchvision_has_the_classifiers_width(name: str) -> None:
    extractor = blank(f"torchvision:{name}", ["pool", "grid"])

    assert extractor.outputs["grid"][2:] == extractor.outputs["pool"]
    assert min(extractor.outputs["grid"][:2]) >= 6


@pytest.mark.parametrize("name", ["densenet121", "shufflenet_v2_x0_5", "mnasnet0_5", "regnet_y_400mf"])
def test_torchvisions_pool_is_what_the_classifier_reads(name: str) -> None:
    """With every fold and rearrangement in between, and whatever stands between the last module and the mean."""
    torch.manual_seed(1)
    model = get_model(name, weights=None).eval()
    extractor = frames.build(name, outputs=["pool"], weights=model.state_dict())
    batch = torch.randn(1, 3, 224, 224)
    head = model.classifier if hasattr(model, "classifier") else model.fc
    seen: list[torch.Tensor] = []
    head.register_forward_hook(lambda _module, inputs, _output: seen.append(inputs[0]))
    with torch.inference_mode():
        model(batch)

    assert_near(extractor(batch)["pool"], seen[0])


@pytest.mark.parametrize("name", ["resnet18", "mobilenetv3_small_050", "vit_tiny_patch16_224"])
def test_timms_outputs_are_its_own(name: str) -> None:
    torch.manual_seed(1)
    model = timm.create_model(name, pretrained=False).eval()
    last = model.feature_info[-1]["module"]
    extractor = frames.build(f"timm:{name}", outputs=["pool", last], weights=model.state_dict())
    batch = torch.randn(1, 3, 224, 224)
    with torch.inference_mode():
        pool = model.forward_head(model.forward_features(batch), pre_logits=True)
        stage = model.forward_intermediates(batch, indices=1, intermediates_only=True)[-1]

    found = extractor(batch)

    assert_near(found["pool"], pool)
    assert_near(found[last], stage.movedim(1, -1))


def assert_near(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.shape == expected.shape
    assert float((found - expected).abs().max() / expected.abs().max()) < 1e-4


@pytest.mark.parametrize("name", ["inception_v4", "resnet18", "mobilenetv3_small_050"])
def test_preprocessing_equals_timms_transform_within_a_grey_level(name: str) -> None:
    extractor = blank(f"timm:{name}", ["pool"])
    config = resolve_data_config({}, model=extractor.network.model)
    published = create_transform(**config)(Image.fromarray(picture()))

    level = 1 / 255 / min(config["std"])
    assert extractor.preprocessing["interpolation"] == config["interpolation"]
    assert float((extractor.prepare(picture()) - published).abs().max()) <= 1.01 * level


def test_preprocessing_equals_torchvisions_first_weights() -> None:
    extractor = blank("resnet50", ["pool"])
    published = get_model_weights("resnet50").IMAGENET1K_V1.transforms()(Image.fromarray(picture()))

    assert extractor.preprocessing["resize_short_side"] == 256  # V2 takes 232
    assert float((extractor.prepare(picture()) - published).abs().max()) <= 1.01 / 255 / 0.224


def test_inception_v4_is_prepared_as_published() -> None:
    assert blank("timm:inception_v4", ["pool"]).preprocessing == {
        "resize_short_side": 341,
        "centre_crop": 299,
        "interpolation": "bicubic",
        "antialias": True,
        "resize_library": "torch uint8",
        "scale": "0..1",
        "mean": [0.5, 0.5, 0.5],
        "std": [0.5, 0.5, 0.5],
        "channels": "RGB",
    }


def test_cadenes_inception_v4_loads_without_its_background_class() -> None:
    model = timm.create_model("inception_v4", pretrained=False)
    state = {name: tensor for name, tensor in model.state_dict().items() if "num_batches_tracked" not in name}
    background = {name: torch.cat([tensor[:1] + 9, tensor]) for name, tensor in state.items() if "last_linear" in name}

    mapped = frames.map_published({**state, **background})

    model.load_state_dict(mapped)
    assert torch.equal(mapped["last_linear.bias"], state["last_linear.bias"])
    assert mapped.keys() == model.state_dict().keys()


@pytest.mark.parametrize(
    ("network", "outputs", "error", "message"),
    [
        ("timm:resnet19", ["pool"], ExtractorError, "no network 'timm:resnet19'; close to it: resnet1"),
        ("timm:hf-hub:someone/resnet18", ["pool"], ExtractorError, "there is no network 'timm:hf-hub"),
        ("resnet19", ["pool"], ExtractorError, "close to it: .*resnet18"),
        ("keras:resnet18", ["pool"], ExtractorError, "no library 'keras'; known: timm, torchvision"),
        ("torchvision:r3d_18", ["pool"], ExtractorError, "not a network of single pictures"),
        ("torchvision:vit_b_16", ["grid"], ExtractorError, "no map in front of its classifier"),
        ("timm:levit_128s", ["grid"], ExtractorError, "has no map of its picture"),
        ("timm:resnet18", ["layer9"], UnknownOutputError, r"has no output \['layer9'\]; it has: pool, grid, act1"),
    ],
)
def test_what_cannot_be_is_refused(network: str, outputs: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        blank(network, outputs)


def test_foreign_weights_are_refused_by_name() -> None:
    with pytest.raises(ExtractorError, match="these are not the weights of timm:resnet18"):
        frames.build("timm:resnet18", outputs=["pool"], weights={"x": torch.zeros(1)})


def test_googlenet_sees_colours_as_torchvisions_loader_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights want another scale than the transform gives, and the network itself changes it, once trained."""
    torch.manual_seed(1)
    state = get_model("googlenet", weights=None, init_weights=False).state_dict()
    monkeypatch.setattr(WeightsEnum, "get_state_dict", lambda *_, **__: state)
    theirs = get_model("googlenet", weights=next(iter(get_model_weights("googlenet")))).eval()
    seen: list[torch.Tensor] = []
    theirs.fc.register_forward_hook(lambda _module, inputs, _output: seen.append(inputs[0]))
    batch = torch.randn(1, 3, 224, 224)
    with torch.inference_mode():
        theirs(batch)

    extractor = frames.build("googlenet", outputs=["pool"], weights=state)

    assert_near(extractor(batch)["pool"], seen[0])


def test_an_edition_for_larger_pictures_is_built_for_them() -> None:
    with torch.device("meta"):
        extractor = frames.build(
            "vit_b_16", outputs=["pool"], weights=None, device="meta", published="IMAGENET1K_SWAG_E2E_V1"
        )
    assert extractor.example.shape[-2:] == (384, 384)


def test_an_edition_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(ExtractorError, match="no 'V3' of resnet50; it has: IMAGENET1K_V1, IMAGENET1K_V2"):
        frames.build("resnet50", outputs=["pool"], weights=None, published="V3")


def test_what_a_network_keeps_of_a_pass_is_not_of_the_one_that_told_the_shapes() -> None:
    """Its attention keeps biases from one pass to the next."""
    extractor = frames.build("timm:efficientformerv2_s0", outputs=["pool"], weights=None)
    batch = torch.randn(2, 3, 224, 224)
    torch.manual_seed(RANDOM_SEED)
    model = timm.create_model("efficientformerv2_s0").eval()

    with torch.no_grad():
        expected = model.forward_head(model.forward_features(batch), pre_logits=True)
    assert_near(extractor(batch)["pool"], expected)
