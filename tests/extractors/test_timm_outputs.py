"""Any module of a timm network is an output, wherever it runs; what never runs is refused with the names that do.

The sample of networks is drawn with a seed that every test's name shows; FRAMESCRIBE_SAMPLE_SEED sets another one.
"""

from __future__ import annotations

import os
import random
import re

import pytest
import timm
import torch

from extractors import frames
from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts.publishers import is_text_aligned, text_aligned_editions
from tests.extractors.test_frames import assert_near, blank

SEED = int(os.environ.get("FRAMESCRIBE_SAMPLE_SEED", "0"))
NAMES = [name for name in timm.list_models() if re.search("clip|siglip|dino|pe", name)]
HUGE = re.compile("7b|gigantic|enormous|giant|huge|so400m|large")
DRAWN = random.Random(SEED).sample([name for name in NAMES if not HUGE.search(name)], 5)


def shapes_or_refusals(name: str) -> dict[str, tuple[int, ...] | str]:
    """Of pool, of embed in an edition that has one, and of the last module."""
    with torch.device("meta"):
        *_, (last, _) = timm.create_model(name).named_modules()
    edition = next(iter(text_aligned_editions(name)), name)
    return {output: shape_or_refusal(at, output) for at, output in ((name, "pool"), (edition, "embed"), (name, last))}


def shape_or_refusal(name: str, output: str) -> tuple[int, ...] | str:
    try:
        return blank(f"timm:{name}", [output]).outputs[output]
    except ExtractorError as error:
        return str(error)


def require_words(name: str) -> None:
    found = shapes_or_refusals(name)
    assert isinstance(found["pool"], tuple)
    assert isinstance(found["embed"], tuple) == bool(text_aligned_editions(name))
    for output, shape in found.items():
        assert isinstance(shape, tuple) or (name in shape and f"'{output}'" in shape)


@pytest.mark.parametrize("name", [pytest.param(name, id=f"seed{SEED}-{name}") for name in DRAWN])
def test_a_sample_works_or_is_refused_in_words(name: str) -> None:
    require_words(name)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_every_network_works_or_is_refused_in_words(name: str) -> None:
    require_words(name)


@pytest.mark.parametrize(
    ("network", "outputs"),
    [
        ("timm:vit_xsmall_patch16_clip_224.tinyclip_yfcc15m", {"head": (512,), "embed": (512,), "norm": (14, 14, 256)}),
        (
            "timm:vit_base_patch16_siglip_224.v2_webli",
            {"attn_pool": (768,), "head": (768,), "blocks.3.mlp.fc1": (14, 14, 3072)},
        ),
    ],
)
def test_modules_behind_the_features_are_outputs_too(network: str, outputs: dict[str, tuple[int, ...]]) -> None:
    assert blank(network, list(outputs)).outputs == outputs


def test_embed_is_the_whole_network_and_a_module_what_it_gives_there() -> None:
    network = "vit_xsmall_patch16_clip_224.tinyclip_yfcc15m"
    torch.manual_seed(1)
    model = timm.create_model(network).eval()
    extractor = frames.build(f"timm:{network}", outputs=["embed", "head", "pool"], weights=model.state_dict())
    batch = torch.randn(2, 3, 224, 224)
    with torch.inference_mode():
        expected = model(batch)
        pool = model.forward_head(model.forward_features(batch), pre_logits=True)

    found = extractor(batch)

    assert_near(found["embed"], expected)
    assert_near(found["head"], expected)
    assert_near(found["pool"], pool)


def test_a_module_that_never_runs_is_refused_with_those_that_do() -> None:
    with pytest.raises(
        UnknownOutputError, match=r"no output \['blocks.0.attn.attn_drop'\]; it has: .*blocks.0, .*head"
    ):
        blank("timm:vit_tiny_patch16_224", ["blocks.0.attn.attn_drop"])


def test_a_module_without_a_row_per_picture_is_refused() -> None:
    """Swin's attention sees windows, of which a picture has many."""
    with pytest.raises(ExtractorError, match=r"no row per picture in 'layers.0.blocks.0.attn'"):
        blank("timm:swin_tiny_patch4_window7_224", ["layers.0.blocks.0.attn"])


def test_a_classifier_made_of_clip_has_no_embed_and_names_the_editions_that_have() -> None:
    with pytest.raises(ExtractorError, match=r"no output 'embed'.*_ft_in1.*timm:vit_base_patch32_clip_224.openai"):
        blank("timm:vit_base_patch32_clip_224", ["embed"])


@pytest.mark.parametrize(
    ("edition", "aligned"),
    [
        ("convnext_base.clip_laion2b", True),
        ("convnext_base.clip_laion2b_augreg_ft_in1k", False),
        ("resnet50_clip_gap.openai", False),
        ("vit_so400m_patch14_siglip_gap_224.pali_mix", False),
        ("vit_pe_core_base_patch16_224.fb", True),
        ("vit_pe_spatial_base_patch16_512.fb", False),
        ("vit_base_patch14_dinov2.lvd142m", False),
    ],
)
def test_which_editions_end_beside_texts(edition: str, aligned: bool) -> None:
    assert is_text_aligned(edition) == aligned


def test_a_squashed_picture_can_be_prepared() -> None:
    extractor = blank("timm:vit_base_patch16_clip_384.laion2b_ft_in1k", ["pool"])

    assert extractor.prepare(torch.zeros(90, 160, 3, dtype=torch.uint8).numpy()).shape == (3, 384, 384)
