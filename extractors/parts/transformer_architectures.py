"""Architectures of transformers by model type: what each takes, which classes it is made of, and how it is run.

`pool` is what transformers calls `pooler_output`; of a network that has none, what its classifier reads: the mean of
all tokens, or TimeSformer's first one. `embed` is the vector that is compared with text, before it is normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from extractors.base import Takes

Found = tuple[Any, Tensor, Tensor | None]  # what the network gives, `pool`, and `embed` where there is one
Run = Callable[..., Found]


def _pooled(model: Any, inputs: Tensor, **asked: bool) -> Found:
    found = model(inputs, **asked)
    return found, found.pooler_output, None


def _averaged(model: Any, inputs: Tensor, **asked: bool) -> Found:
    found = model(inputs, **asked)
    return found, found.last_hidden_state.mean(1), None


def _first_token(model: Any, inputs: Tensor, **asked: bool) -> Found:
    found = model(inputs, **asked)
    return found, found.last_hidden_state[:, 0], None


def _vjepa2(model: Any, clips: Tensor, **asked: bool) -> Found:
    return _averaged(model, clips, skip_predictor=True, **asked)


def _whisper(model: Any, spectra: Tensor, **asked: bool) -> Found:
    return _averaged(model.encoder, spectra, **asked)


def _clip(model: Any, pictures: Tensor, **asked: bool) -> Found:
    found = model.vision_model(pictures, **asked)
    return found, found.pooler_output, model.visual_projection(found.pooler_output)


def _siglip(model: Any, pictures: Tensor, **asked: bool) -> Found:
    """The attention pool is at once the vector of the joint space."""
    found = model(pictures, **asked)
    return found, found.pooler_output, found.pooler_output


def _xclip(model: Any, clips: Tensor, **asked: bool) -> Found:
    """`pooler_output` is that of all frames together; layers are of single frames, all of a clip in one row."""
    found = model.get_video_features(clips, **asked)
    apart: dict[str, Any] = {"last_hidden_state": _by_clip(found.last_hidden_state, clips)}
    if found.hidden_states is not None:
        apart["hidden_states"] = tuple(_by_clip(each, clips) for each in found.hidden_states)
    return type(found)(**apart), found.pooler_output, found.pooler_output


def _by_clip(frames: Tensor, clips: Tensor) -> Tensor:
    return frames.unflatten(0, clips.shape[:2])  # (B * T, N, C) -> (B, T, N, C)


def _clap(model: Any, spectra: Tensor, **asked: bool) -> Found:
    found = model.audio_model(spectra, **asked)
    return found, found.pooler_output, model.audio_projection(found.pooler_output)


@dataclass(frozen=True, kw_only=True)
class Architecture:
    takes: Takes
    model: str  # class of transformers
    config: str
    processor: str  # that its publishers use; another one may be named beside the weights
    run: Run
    whole: str = ""  # configuration of which this one is a part
    section: str = ""  # that part
    without: tuple[str, ...] = ()  # modules that no feature needs, such as the text tower
    untrained: Mapping[str, str] = field(default_factory=dict)  # processor's settings where no weights state any


ARCHITECTURES = {
    "clip": Architecture(
        takes="frames",
        model="CLIPVisionModelWithProjection",
        config="CLIPVisionConfig",
        processor="CLIPImageProcessor",
        run=_clip,
        whole="CLIPConfig",
        section="vision_config",
    ),
    "siglip": Architecture(
        takes="frames",
        model="SiglipVisionModel",
        config="SiglipVisionConfig",
        processor="SiglipImageProcessor",
        run=_siglip,
        whole="SiglipConfig",
        section="vision_config",
    ),
    "dinov2": Architecture(
        takes="frames", model="Dinov2Model", config="Dinov2Config", processor="BitImageProcessor", run=_pooled
    ),
    "dinov2_with_registers": Architecture(
        takes="frames",
        model="Dinov2WithRegistersModel",
        config="Dinov2WithRegistersConfig",
        processor="BitImageProcessor",
        run=_pooled,
    ),
    "dinov3_vit": Architecture(
        takes="frames",
        model="DINOv3ViTModel",
        config="DINOv3ViTConfig",
        processor="DINOv3ViTImageProcessor",
        run=_pooled,
    ),
    "dinov3_convnext": Architecture(
        takes="frames",
        model="DINOv3ConvNextModel",
        config="DINOv3ConvNextConfig",
        processor="DINOv3ViTImageProcessor",
        run=_pooled,
    ),
    "videomae": Architecture(
        takes="clips",
        model="VideoMAEModel",
        config="VideoMAEConfig",
        processor="VideoMAEImageProcessor",
        run=_averaged,
    ),
    "timesformer": Architecture(
        takes="clips",
        model="TimesformerModel",
        config="TimesformerConfig",
        processor="VideoMAEImageProcessor",
        run=_first_token,
    ),
    "vjepa2": Architecture(
        takes="clips",
        model="VJEPA2Model",
        config="VJEPA2Config",
        processor="VJEPA2VideoProcessor",
        run=_vjepa2,
        without=("predictor",),
    ),
    "xclip": Architecture(
        takes="clips",
        model="XCLIPModel",
        config="XCLIPConfig",
        processor="VideoMAEImageProcessor",
        run=_xclip,
        without=(
            "text_model",
            "text_projection",
            "prompts_visual_layernorm",
            "prompts_visual_projection",
            "prompts_generator",
        ),
    ),
    "audio-spectrogram-transformer": Architecture(
        takes="audio", model="ASTModel", config="ASTConfig", processor="ASTFeatureExtractor", run=_pooled
    ),
    "clap": Architecture(
        takes="audio",
        model="ClapAudioModelWithProjection",
        config="ClapAudioConfig",
        processor="ClapFeatureExtractor",
        run=_clap,
        whole="ClapConfig",
        section="audio_config",
        untrained={"truncation": "rand_trunc"},  # the default is fusion, which is refused
    ),
    "whisper": Architecture(
        takes="audio",
        model="WhisperModel",
        config="WhisperConfig",
        processor="WhisperFeatureExtractor",
        run=_whisper,
        without=("decoder",),
    ),
}
