"""CLIP, SigLIP, PE and DINO are what their publishers mean by them: numbers, activations, pictures, and names."""

from __future__ import annotations

import numpy as np
import open_clip
import pytest
import timm
import torch
from open_clip.pretrained import _PRETRAINED
from open_clip.transform import image_transform
from PIL import Image
from torch.nn import functional
from torchvision import transforms
from torchvision.transforms import v2

from extractors import frames
from extractors.parts.publishers import dinov2_positions, publishers_pictures, quick_gelu_networks
from pipeline.catalogue import read_card
from tests.extractors.published_towers import TOWERS
from tests.extractors.test_frames import blank, picture

QUICK = "clip_vit_b32"  # the others take a quarter of a minute each
CARDS = [pytest.param(name, marks=[] if name == QUICK else pytest.mark.slow) for name in TOWERS]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZES = [(300, 400), (400, 225), (180, 320), (90, 160), (720, 1280), (224, 224)]
OPEN_CLIP = {
    "clip_vit_b32": ("ViT-B-32", "openai"),
    "clip_vit_b16": ("ViT-B-16", "openai"),
    "clip_vit_l14": ("ViT-L-14", "openai"),
    "siglip2_b16": ("ViT-B-16-SigLIP2", "webli"),
    "pe_core_b16": ("PE-Core-B-16", "meta"),
}
DINOV2 = transforms.Compose(
    [
        transforms.Resize(256, interpolation=transforms.InterpolationMode.BICUBIC),
        transforms.CenterCrop(224),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
)
DINOV3 = v2.Compose(
    [
        v2.ToImage(),
        v2.Resize(256, interpolation=v2.InterpolationMode.BICUBIC),
        v2.CenterCrop(224),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ]
)


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    assert found.shape == expected.shape
    return float((found - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize("card", CARDS)
def test_random_weights_give_the_publishers_vector(card: str) -> None:
    tower, params = TOWERS[card](), read_card(card).params
    output = params.outputs[0]
    extractor = frames.build(params.network, outputs=[output], weights=tower.state)
    batch = torch.randn(2, 3, 224, 224)
    with torch.inference_mode():
        expected = tower.vector(batch)

    assert relative(extractor(batch)[output], expected) < 1e-5


def published_transform(card: str) -> transforms.Compose | v2.Compose:
    if card not in OPEN_CLIP:
        return DINOV2 if card == "dinov2_b14" else DINOV3
    model, tag = OPEN_CLIP[card]
    facts = _PRETRAINED[model][tag]
    chosen = {key: facts[key] for key in ("mean", "std", "interpolation", "resize_mode")}
    size = open_clip.get_model_config(model)["vision_cfg"]["image_size"]
    return image_transform(size, is_train=False, **chosen)


def sharp(height: int, width: int) -> np.ndarray:
    """Where filters overshoot."""
    y, x = np.mgrid[:height, :width]
    return np.stack([(x // 7 + y // 5) % 2, x // 3 % 2, (x + y) // 11 % 2], -1).astype(np.uint8) * 255


@pytest.mark.parametrize("card", TOWERS)
def test_pictures_are_within_a_grey_level_of_the_publishers(card: str) -> None:
    extractor, published = blank(read_card(card).params.network, ["pool"]), published_transform(card)
    level = 1 / 255 / min(extractor.preprocessing["std"])
    for height, width in SIZES:
        for frame in (picture(height, width), sharp(height, width)):
            found, expected = extractor.prepare(frame), published(Image.fromarray(frame))
            assert found.shape == expected.shape
            assert float((found - expected).abs().max()) <= 1.01 * level


def timm_editions() -> dict[str, dict]:
    """What open_clip says of the editions that timm has too, by file or by network."""
    known, found = set(timm.list_pretrained()), {}
    for model, editions in _PRETRAINED.items():
        network = open_clip.get_model_config(model)["vision_cfg"].get("timm_model_name", "")
        for tag, facts in editions.items():
            file = facts["hf_hub"].removeprefix("timm/").rstrip("/")
            tags = {"webli": "v2_webli" if "SigLIP2" in model else "webli", "meta": "fb"}
            for name in (file, f"{network}.{tags.get(tag)}"):
                if name in known:
                    found[name] = facts
    return found


def test_all_editions_that_open_clip_has_too_are_prepared_as_there() -> None:
    editions = timm_editions()
    assert len(editions) > 50
    for name, facts in editions.items():
        config = publishers_pictures(name, {"input_size": (3, 224, 224), "crop_pct": 0.9})
        found = config["crop_pct"], config["crop_mode"], config["interpolation"]
        mode = "squash" if facts["resize_mode"] == "squash" else "center"
        assert found == (1, mode, facts["interpolation"]), name


def test_every_edition_that_open_clip_builds_with_quick_gelu_is_built_so_here() -> None:
    wanted = {name for name, facts in timm_editions().items() if facts.get("quick_gelu") and name.startswith("vit_")}

    assert len(wanted) > 10
    assert wanted <= set(quick_gelu_networks())


def test_timms_own_note_of_quick_gelu_is_followed() -> None:
    names = [name for name in timm.list_pretrained("*_clip_*") if "_quickgelu_" not in name]
    plain = [name for name in names if "QuickGELU" in str(timm.get_pretrained_cfg(name).notes)]

    assert len(plain) == 17
    assert set(plain) <= set(quick_gelu_networks())


@pytest.mark.parametrize("tag", ["openai", "dfn2b"])
def test_the_activation_is_right_by_itself_and_stands_in_the_identity(tag: str) -> None:
    extractor = blank(f"timm:vit_base_patch16_clip_224.{tag}", ["embed"])

    assert type(extractor.network.model.blocks[0].mlp.act).__name__ == "QuickGELU"
    assert extractor.preprocessing["built_as"] == {"model_name": "vit_base_patch16_clip_quickgelu_224"}
    assert extractor.outputs == {"embed": (512,)}


def test_a_network_with_another_activation_would_be_seen() -> None:
    """The defect that the names above had."""
    tower = TOWERS[QUICK]()
    plain = timm.create_model("vit_base_patch32_clip_224.laion2b").eval()
    plain.load_state_dict(tower.state)
    batch = torch.randn(1, 3, 224, 224)
    with torch.inference_mode():
        assert relative(plain(batch), tower.vector(batch)) > 1e-3


def test_other_networks_keep_their_identity() -> None:
    preprocessing = blank("timm:vit_tiny_patch16_224", ["pool"]).preprocessing

    assert "built_as" not in preprocessing
    assert (preprocessing["resize_short_side"], preprocessing["resize_library"]) == (248, "torch uint8")


@pytest.mark.parametrize("registers", [False, True])
def test_dinov2s_positions_are_resampled_as_by_its_authors(registers: bool) -> None:
    """Scale factors with a tenth of a patch before registers came, sizes and antialiasing since."""
    positions = torch.randn(1, 37 * 37 + (not registers), 24)
    patches = positions[:, -37 * 37 :].reshape(1, 37, 37, 24).permute(0, 3, 1, 2)
    chosen = {"size": (16, 16), "antialias": True} if registers else {"scale_factor": (16.1 / 37, 16.1 / 37)}
    expected = functional.interpolate(patches, mode="bicubic", **chosen).permute(0, 2, 3, 1).reshape(1, 256, 24)

    found = dinov2_positions(positions, side=16, registers=registers)

    assert torch.equal(found[:, -256:], expected)
    assert torch.equal(found[:, :-256], positions[:, : -37 * 37])


def test_published_weights_of_dinov2_are_taken_though_their_pictures_were_larger() -> None:
    torch.manual_seed(1)
    state = timm.create_model("vit_small_patch14_dinov2").state_dict()

    extractor = frames.build("timm:vit_small_patch14_dinov2", outputs=["pool", "grid"], weights=state)

    assert extractor.outputs == {"pool": (384,), "grid": (16, 16, 384)}
    sides = [extractor.preprocessing[key] for key in ("resize_short_side", "centre_crop")]
    assert sides == [256, 224]
