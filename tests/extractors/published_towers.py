"""Image towers by their publishers' code with random weights, and the same weights under timm's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import open_clip
import timm
import torch
from open_clip.model import _build_vision_tower
from timm.models.vision_transformer import checkpoint_filter_fn
from torch import Tensor, nn
from transformers import (
    Dinov2Config,
    Dinov2Model,
    DINOv3ViTConfig,
    DINOv3ViTModel,
    SiglipVisionConfig,
    SiglipVisionModel,
)

State = dict[str, Tensor]
QKV = re.compile(r"(.*)\.(q_proj|k_proj|v_proj)\.(weight|bias)$")


@dataclass(frozen=True)
class Tower:
    """`vector` is the publisher's feature of a batch; `state` the weights as timm's network wants them."""

    vector: Callable[[Tensor], Tensor]
    state: State


def randomised(model: nn.Module) -> nn.Module:
    """Every number, biases and scales too: what starts at zero would hide a mistake."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)
    return model.eval()


def clip_tower(size: str, *, network: str) -> Tower:
    """CLIP by open_clip's own network, which is not timm's."""
    config = open_clip.get_model_config(f"ViT-{size}-quickgelu")
    tower = randomised(_build_vision_tower(config["embed_dim"], config["vision_cfg"], quick_gelu=True))
    state = {f"visual.{key}": tensor for key, tensor in tower.state_dict().items()}
    with torch.device("meta"):
        model = timm.create_model(f"vit_{network}_clip_quickgelu_224.openai")
    return Tower(tower, checkpoint_filter_fn(state, model))


def pe_tower(name: str) -> Tower:
    """PE as open_clip assembles it, out of timm's parts."""
    config = open_clip.get_model_config(name)
    tower = randomised(_build_vision_tower(config["embed_dim"], config["vision_cfg"], False))
    return Tower(tower, {key.removeprefix("trunk."): tensor for key, tensor in tower.state_dict().items()})


def siglip_tower() -> Tower:
    """SigLIP and SigLIP 2 of fixed size are one network."""
    model = randomised(SiglipVisionModel(SiglipVisionConfig()))
    swaps = [("encoder.layers", "blocks"), ("embeddings.patch_embedding", "patch_embed.proj"), ("layer_norm", "norm")]
    swaps += [("self_attn.out_proj", "attn.proj"), ("self_attn", "attn"), ("post_layernorm", "norm")]
    swaps += [("embeddings.position_embedding.weight", "pos_embed"), ("head.probe", "attn_pool.latent")]
    swaps += [("head.attention.out_proj", "attn_pool.proj"), ("head.layernorm", "attn_pool.norm")]
    swaps += [("head.mlp", "attn_pool.mlp")]
    state = renamed(model.state_dict(), swaps)
    state["pos_embed"] = state["pos_embed"][None]
    for kind in ("weight", "bias"):
        query, *others = state.pop(f"head.attention.in_proj_{kind}").chunk(3)
        state |= {f"attn_pool.q.{kind}": query, f"attn_pool.kv.{kind}": torch.cat(others)}
    return Tower(lambda batch: model(batch).pooler_output, state)


def dinov2_tower() -> Tower:
    model = randomised(Dinov2Model(Dinov2Config()))
    swaps = [("encoder.layer.", "blocks."), ("embeddings.patch_embeddings.projection", "patch_embed.proj")]
    swaps += [("embeddings.position_embeddings", "pos_embed"), ("embeddings.cls_token", "cls_token")]
    swaps += [("layer_scale1.lambda1", "ls1.gamma"), ("layer_scale2.lambda1", "ls2.gamma"), ("layernorm", "norm")]
    swaps += [("attention.o_proj", "attn.proj"), ("attention", "attn")]
    return Tower(lambda batch: model(batch).pooler_output, renamed(model.state_dict(), swaps))


def dinov3_tower() -> Tower:
    sizes = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12}
    config = DINOv3ViTConfig(**sizes, num_register_tokens=4, query_bias=False, value_bias=False)
    model = randomised(DINOv3ViTModel(config))
    swaps = [("model.layer.", "blocks."), ("embeddings.patch_embeddings", "patch_embed.proj")]
    swaps += [("embeddings.register_tokens", "reg_token"), ("embeddings.cls_token", "cls_token")]
    swaps += [("layer_scale1.lambda1", "gamma_1"), ("layer_scale2.lambda1", "gamma_2")]
    swaps += [("attention.o_proj", "attn.proj"), ("attention", "attn"), ("up_proj", "fc1"), ("down_proj", "fc2")]
    return Tower(lambda batch: model(batch).pooler_output, renamed(model.state_dict(), swaps))


def renamed(state: Mapping[str, Tensor], swaps: Sequence[tuple[str, str]]) -> State:
    """timm's names, and one matrix for query, key and value."""
    found: State = {}
    for name, tensor in state.items():
        for old, new in swaps:
            name = name.replace(old, new)
        if "mask_token" not in name:
            found[name] = tensor
    return dict(joined(found))


def joined(state: State) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in state.items():
        match = QKV.match(name)
        if match is None:
            yield name, tensor
        elif match[2] == "q_proj":
            parts = [state[f"{match[1]}.{each}.{match[3]}"] for each in ("q_proj", "k_proj", "v_proj")]
            yield f"{match[1]}.qkv.{match[3]}", torch.cat(parts)


TOWERS: dict[str, Callable[[], Tower]] = {
    "clip_vit_b32": lambda: clip_tower("B-32", network="base_patch32"),
    "clip_vit_b16": lambda: clip_tower("B-16", network="base_patch16"),
    "clip_vit_l14": lambda: clip_tower("L-14", network="large_patch14"),
    "siglip2_b16": siglip_tower,
    "dinov2_b14": dinov2_tower,
    "dinov3_b16": dinov3_tower,
    "pe_core_b16": lambda: pe_tower("PE-Core-B-16"),
}
