"""S3D of kylemin/S3D, trained on Kinetics-400, as the state of torchvision's `s3d`."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from extractors.parts.windows import without_prefix

SPELLINGS = {  # in this order
    "base.": "features.",
    "fc.0.": "classifier.1.",  # behind a dropout
    "branch0.0.": "branch0.",
    ".conv_s.": ".0.0.",
    ".bn_s.": ".0.1.",
    ".conv_t.": ".1.0.",
    ".bn_t.": ".1.1.",
    ".conv.": ".0.",
    ".bn.": ".1.",
}


def map_published(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {_our_name(name): tensor for name, tensor in without_prefix(state, "module.").items()}


def _our_name(name: str) -> str:
    for theirs, ours in SPELLINGS.items():
        name = name.replace(theirs, ours)
    return name
