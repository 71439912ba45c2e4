"""What a network of transformers is given: pictures and spectra of the processor that its publisher configured.

The processors are transformers' own code, so that no digit of their arithmetic is ours; which one, and its settings,
is data beside the weights. Only processors of this list are made, whatever a configuration names.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import torch
from torch import Tensor

from extractors.base import ExtractorError
from extractors.parts.transformer_architectures import Architecture
from extractors.parts.transformer_networks import library, without_foreign_code

PICTURES = (
    "BitImageProcessor",
    "CLIPImageProcessor",
    "ConvNextImageProcessor",
    "DINOv3ViTImageProcessor",
    "SiglipImageProcessor",
    "VideoMAEImageProcessor",
    "ViTImageProcessor",
)
VIDEOS = ("TimesformerVideoProcessor", "VJEPA2VideoProcessor", "VideoMAEVideoProcessor")
SOUNDS = ("ASTFeatureExtractor", "ClapFeatureExtractor", "WhisperFeatureExtractor")
STATED_IN = ("video_processor_type", "image_processor_type", "feature_extractor_type")


def processor_of(network: str, kind: Architecture, facts: Mapping[str, Any]) -> Any:
    name = processor_name(kind, facts)
    settings = {
        key: value for key, value in without_foreign_code(facts or kind.untrained).items() if key not in STATED_IN
    }
    class_ = getattr(library(network), name)
    try:
        return class_.from_dict(settings)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ExtractorError(f"this is no configuration of {name}, the processor of {network}: {error}") from error


def processor_name(kind: Architecture, facts: Mapping[str, Any]) -> str:
    """Files of other years have other endings of the same names."""
    stated = next((str(facts[key]) for key in STATED_IN if facts.get(key)), kind.processor)
    name = stated.removesuffix("Fast").removesuffix("Pil")
    if kind.takes != "audio":
        name = name.replace("FeatureExtractor", "ImageProcessor")
    allowed = SOUNDS if kind.takes == "audio" else (*PICTURES, *VIDEOS) if kind.takes == "clips" else PICTURES
    if name not in allowed:
        raise ExtractorError(f"the processor is '{stated}'; allowed: {', '.join(allowed)}")
    return name


def picture(processor: Any, frame: np.ndarray) -> Tensor:
    """(3, H, W) of one frame; processors of videos take one of a single frame."""
    given = torch.from_numpy(frame).permute(2, 0, 1)  # (3, H, W)
    is_video = type(processor).__name__ in VIDEOS
    found = processor(given[None] if is_video else given, return_tensors="pt", input_data_format="channels_first")
    return next(iter(found.values())).flatten(0, -4)[0]


def require_one_size(processor: Any, network: str) -> tuple[int, ...]:
    """The shape of a prepared frame, which must not depend on the frame's own."""
    tall, wide = (tuple(picture(processor, np.zeros((*size, 3), np.uint8)).shape) for size in ((96, 64), (64, 96)))
    if tall != wide:
        raise ExtractorError(
            f"the processor of {network} makes pictures of {tall} and of {wide}, after the frame's shape; "
            "features need one size: give do_center_crop, or a size of height and width"
        )
    return tall


def spectrum(processor: Any, samples: np.ndarray) -> Tensor:
    """What the network is given of one window; `samples` is float32 in -1..1 at the processor's rate."""
    found = processor(samples, sampling_rate=processor.sampling_rate, return_tensors="pt")
    return found[processor.model_input_names[0]][0]


def longest_sound(processor: Any) -> int:
    """Samples of the longest window that is neither cut nor chosen from at random."""
    if type(processor).__name__ == "ASTFeatureExtractor":
        return (processor.max_length - 1) * 160 + 400  # 25 ms every 10 ms, at 16 kHz
    known = "nb_max_samples" if hasattr(processor, "nb_max_samples") else "n_samples"
    return int(getattr(processor, known))


def described(processor: Any) -> dict[str, Any]:
    """All that decides the input. AST's spectra are torchaudio's where it is installed, else numpy's: not the same."""
    facts = {"processor": type(processor).__name__, **processor.to_dict()}
    return facts | ({"spectrum": _torchaudio()} if facts["processor"] == "ASTFeatureExtractor" else {})


def _torchaudio() -> str:
    try:
        return f"torchaudio {version('torchaudio')}"
    except PackageNotFoundError:
        return "numpy"
