"""Editions of timm as their publishers mean them, where timm's own configuration says something else.

timm prepares pictures of CLIP, SigLIP, PE and DINO as those of a classifier, has OpenAI's and SigLIP's weights in
networks with another activation than they were trained with, and takes a mean where DINOv3 has a class token. The rules
go by the name of an edition, NETWORK.TAG; the tests hold them against open_clip's table and the publishers' code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import timm
import torch
from torch import Tensor
from torch.nn import functional

from extractors.parts.resizing import ResizeMethod

CLASSIFIER = re.compile(r"_ft_in\d")  # trained further, on classes: it has left its publisher's recipe
ALIGNED = re.compile(r"clip|siglip|vit_pe_core")
RECIPES = re.compile(r"clip|siglip|vit_pe_")
WITHOUT_EMBED = re.compile(r"_gap|naflex|pali")  # the part that ends among the texts was taken off, or trained away
SQUASHED = re.compile(r"siglip|vit_pe_|\.dfn5b|clip_378\.metaclip2")
BILINEAR = re.compile(r"vit_pe_|_mci")
DINO = re.compile(r"dinov[23]|\.(fb_)?dino$")
DINO_SIZES = 256, 224  # short side and crop of all evaluations of DINO, DINOv2 and DINOv3
# open_clip says so and timm does not
MORE_QUICK_GELU = {"vit_base_patch16_clip_224.dfn2b": "vit_base_patch16_clip_quickgelu_224"}


def edition_of(facts: Any) -> str:
    """NETWORK.TAG of timm's pretrained configuration."""
    return f"{facts.architecture}.{facts.tag}"


def is_text_aligned(edition: str) -> bool:
    """Whether the whole network ends in the vector that is compared with a text."""
    return bool(ALIGNED.search(edition)) and not (CLASSIFIER.search(edition) or WITHOUT_EMBED.search(edition))


def text_aligned_editions(network: str) -> list[str]:
    return [name for name in timm.list_pretrained(f"{network}.*") if is_text_aligned(name)]


@cache
def quick_gelu_networks() -> dict[str, str]:
    """Edition -> the network with the activation that it was trained with: timm lists the same file under both."""
    files: dict[str, Any] = {name: timm.get_pretrained_cfg(name) for name in timm.list_pretrained("*_clip_*")}
    homes = {facts.hf_hub_id: name.partition(".")[0] for name, facts in files.items() if "_quickgelu_" in name}
    plain = {name: facts.hf_hub_id for name, facts in files.items() if "_quickgelu_" not in name}
    return MORE_QUICK_GELU | {name: homes[file] for name, file in plain.items() if file in homes}


def is_dino(edition: str) -> bool:
    return bool(DINO.search(edition)) and "eupe" not in edition  # of which no evaluation is known here


def publishers_network(edition: str, *, side: int, usual_side: int) -> dict[str, Any]:
    """Arguments of `timm.create_model` that the publisher's network has and timm's default has not."""
    found: dict[str, Any] = {}
    if home := quick_gelu_networks().get(edition):
        found["model_name"] = home
    if "siglip" in edition and has_own_recipe(edition):
        found["act_layer"] = "gelu_tanh"
    if is_dino(edition) and side != usual_side:
        found["img_size"] = side
    if is_dino(edition) and "dinov3" in edition.partition(".")[0]:
        found["global_pool"] = "token"
    return found


def has_own_recipe(edition: str) -> bool:
    """Whether pictures are prepared here as its publisher does it, and not as timm's configuration says."""
    if CLASSIFIER.search(edition) or "naflex" in edition:  # which takes pictures of any shape, a square among them
        return False
    return bool(RECIPES.search(edition)) or is_dino(edition)


def publishers_resizing(edition: str) -> ResizeMethod:
    """All resize by PIL, but for DINOv3, which resizes tensors, as is done here otherwise."""
    return "pil" if has_own_recipe(edition) and "dinov3" not in edition else "torch"


def publishers_pictures(edition: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """timm's configuration of the data with what the publisher does instead."""
    if is_dino(edition):
        resize, crop = DINO_SIZES
        return {**config, "input_size": (3, crop, crop), "crop_pct": crop / resize, "crop_mode": "center"}
    if not has_own_recipe(edition):
        return dict(config)
    crop_mode = "squash" if SQUASHED.search(edition) else "center"
    interpolation = "bilinear" if BILINEAR.search(edition) else "bicubic"
    return {**config, "crop_pct": 1.0, "crop_mode": crop_mode, "interpolation": interpolation}


def dinov2_positions(positions: Tensor, *, side: int, registers: bool) -> Tensor:
    """DINOv2's positions (1, N, C) for a grid of side x side patches, as its authors' code resamples them.

    The networks with registers came later: there antialiasing is on, and a tenth of a patch is not added any more.
    """
    old = math.isqrt(positions.shape[1])
    if old == side:
        return positions
    first, patches = positions.split([positions.shape[1] - old**2, old**2], dim=1)  # a class token may stand before
    picture = patches.unflatten(1, (old, old)).permute(0, 3, 1, 2).float()  # (1, C, old, old)
    if registers:
        found = functional.interpolate(picture, size=(side, side), mode="bicubic", antialias=True)
    else:
        scale = (side + 0.1) / old
        found = functional.interpolate(picture, scale_factor=(scale, scale), mode="bicubic")
    return torch.cat([first, found.flatten(2).mT.to(positions.dtype)], dim=1)
