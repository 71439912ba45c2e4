"""Networks of transformers that are tiny and untrained, and folders of them as their publishers lay them out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
PATCHED = {**SMALL, "image_size": 32, "patch_size": 8}
TEXT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 99}
IDS = {"vocab_size": 60, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
WHISPER = {
    "d_model": 32,
    **{f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")},
    **{f"{part}_ffn_dim": 64 for part in ("encoder", "decoder")},
}
SWIN = {"patch_embeds_hidden_size": 16, "depths": [1, 1, 2, 1], "num_attention_heads": [2, 2, 4, 4], "hidden_size": 128}
PREDICTOR = {"pred_hidden_size": 16, "pred_num_attention_heads": 4, "pred_num_hidden_layers": 1}
CROPPED = {"size": {"shortest_edge": 36}, "crop_size": {"height": 32, "width": 32}}


@dataclass(frozen=True, kw_only=True)
class Tiny:
    model: str  # the publisher's class
    config: Mapping[str, Any]
    processor: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    file: str = "preprocessor_config.json"
    window: int | None = None

    def options(self, network: str) -> dict[str, str]:
        """Both files as text, for an extractor without weights."""
        return {
            "config": json.dumps({"model_type": network, **self.config}),
            "processor": json.dumps({type_key(self.processor): self.processor, **self.settings}),
        }


TINY = {
    "clip": Tiny(
        model="CLIPModel",
        config={"text_config": TEXT, "vision_config": {**PATCHED, "projection_dim": 24}, "projection_dim": 24},
        processor="CLIPImageProcessor",
        settings=CROPPED,
    ),
    "siglip": Tiny(
        model="SiglipModel",
        config={"text_config": {**TEXT, "projection_size": 32}, "vision_config": PATCHED},
        processor="SiglipImageProcessor",
        settings={"size": {"height": 32, "width": 32}},
    ),
    "dinov2": Tiny(
        model="Dinov2Model",
        config={"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8},
        processor="BitImageProcessor",
        settings={"size": {"shortest_edge": 44}, "crop_size": {"height": 40, "width": 40}},  # positions interpolated
    ),
    "dinov2_with_registers": Tiny(
        model="Dinov2WithRegistersModel",
        config={"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8},
        processor="BitImageProcessor",
        settings=CROPPED,
    ),
    "dinov3_vit": Tiny(
        model="DINOv3ViTModel",
        config={**PATCHED, "num_register_tokens": 2},
        processor="DINOv3ViTImageProcessor",
        settings={"size": {"height": 32, "width": 32}},
    ),
    "dinov3_convnext": Tiny(
        model="DINOv3ConvNextModel",
        config={"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]},
        processor="DINOv3ViTImageProcessor",
        settings={"size": {"height": 64, "width": 64}},
    ),
    "videomae": Tiny(
        model="VideoMAEForVideoClassification",
        config={**PATCHED, "num_frames": 4, "use_mean_pooling": False},
        processor="VideoMAEImageProcessor",
        settings=CROPPED,
        window=4,
    ),
    "timesformer": Tiny(
        model="TimesformerForVideoClassification",
        config={**PATCHED, "num_frames": 4},
        processor="VideoMAEImageProcessor",
        settings=CROPPED,
        window=4,
    ),
    "vjepa2": Tiny(
        model="VJEPA2Model",
        config={
            **{name: SMALL[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")},
            **{"mlp_ratio": 2, "crop_size": 32, "patch_size": 8, "frames_per_clip": 4, **PREDICTOR},
        },
        processor="VJEPA2VideoProcessor",
        settings={"crop_size": {"height": 32, "width": 32}},
        file="video_preprocessor_config.json",
        window=4,
    ),
    "xclip": Tiny(
        model="XCLIPModel",
        config={
            "text_config": TEXT,
            "vision_config": {
                **PATCHED,
                **{"num_frames": 4, "projection_dim": 32, "mit_hidden_size": 32, "mit_num_hidden_layers": 1},
                **{"mit_num_attention_heads": 2, "mit_intermediate_size": 32},
            },
            "projection_dim": 32,
        },
        processor="VideoMAEImageProcessor",
        settings=CROPPED,
        window=4,
    ),
    "audio-spectrogram-transformer": Tiny(
        model="ASTForAudioClassification",
        config={**SMALL, "max_length": 128, "num_mel_bins": 32},
        processor="ASTFeatureExtractor",
        settings={"num_mel_bins": 32, "max_length": 128},
    ),
    "clap": Tiny(
        model="ClapModel",
        config={"text_config": TEXT, "audio_config": {**SWIN, "projection_dim": 24}, "projection_dim": 24},
        processor="ClapFeatureExtractor",
        settings={"truncation": "rand_trunc", "padding": "repeatpad", "max_length_s": 2},
    ),
    "whisper": Tiny(
        model="WhisperForConditionalGeneration",
        config={**WHISPER, **IDS, "max_source_positions": 100},
        processor="WhisperFeatureExtractor",
        settings={"chunk_length": 2},
    ),
}


def type_key(processor: str) -> str:
    kinds = {"VideoProcessor": "video_processor_type", "ImageProcessor": "image_processor_type"}
    return next((key for ending, key in kinds.items() if processor.endswith(ending)), "feature_extractor_type")


def published_folder(network: str, folder: Path, *, shard: str = "5GB") -> Path:
    """What a publisher's `save_pretrained` leaves, of a network whose weights are random but none is its default."""
    import transformers

    tiny = TINY[network]
    publisher = getattr(transformers, tiny.model)
    torch.manual_seed(7)
    model = publisher(publisher.config_class.from_dict(dict(tiny.config))).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.02 * torch.randn_like(weight)  # biases and scales too: zeros and ones would hide a mistake
    model.save_pretrained(folder, max_shard_size=shard)
    facts = {type_key(tiny.processor): tiny.processor, **tiny.settings}
    (folder / tiny.file).write_text(json.dumps(facts))
    return folder
