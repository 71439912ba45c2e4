"""State dictionaries by their publishers' names, written down without our networks: each tensor has its own value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from extractors.parts import i3d_network
from extractors.parts.optical_flow import spynet

Named = tuple[str, tuple[int, ...]]
C3D_SIZES = {
    "conv1a": (64, 3, 3, 3, 3),
    "conv2a": (128, 64, 3, 3, 3),
    "conv3a": (256, 128, 3, 3, 3),
    "conv3b": (256, 256, 3, 3, 3),
    "conv4a": (512, 256, 3, 3, 3),
    "conv4b": (512, 512, 3, 3, 3),
    "conv5a": (512, 512, 3, 3, 3),
    "conv5b": (512, 512, 3, 3, 3),
    "fc6": (4096, 8192),
    "fc7": (4096, 4096),
    "fc8": (487, 4096),
}


def numbered(shapes: Iterable[Named]) -> dict[str, Tensor]:
    """The n-th tensor is n everywhere, and takes no memory."""
    return {name: torch.tensor(float(number)).expand(shape) for number, (name, shape) in enumerate(shapes)}


def norm(name: str, channels: int) -> Iterator[Named]:
    for part in ("weight", "bias", "running_mean", "running_var"):
        yield f"{name}.{part}", (channels,)


def strictly_loaded(network: nn.Module, state: dict[str, Tensor]) -> dict[str, float]:
    """The value of every tensor after a strict load into a network without memory (`meta`)."""
    network.load_state_dict(state, assign=True)
    return {name: tensor.flatten()[0].item() for name, tensor in network.state_dict().items() if tensor.ndim}


def i3d_tree() -> dict:
    """Arrays of the published names and shapes; every value is its own, so that no two can be confused."""
    numbers = np.random.default_rng(0)

    def unit(inputs: int, outputs: int, kernel: int) -> tuple[dict, dict]:
        weights = numbers.normal(size=(kernel, kernel, kernel, inputs, outputs)).astype(np.float32)
        bias, mean, var = numbers.random((3, outputs), dtype=np.float32)
        shape = (1, 1, 1, 1, outputs)
        return (
            {"Conv_0": {"kernel": weights}, "BatchNorm_0": {"bias": bias}},
            {"BatchNorm_0": {"mean": mean.reshape(shape), "var": var.reshape(shape)}},
        )

    params, statistics = {}, {}
    for name, sizes in i3d_network.LAYERS.items():
        if isinstance(sizes, i3d_network.Conv):
            params[name], statistics[name] = unit(sizes.inputs, sizes.outputs, sizes.kernel)
        elif isinstance(sizes, i3d_network.Mixed):
            shapes = {
                "Branch_0/Conv3d_0a_1x1": (sizes.inputs, sizes.one, 1),
                "Branch_1/Conv3d_0a_1x1": (sizes.inputs, sizes.reduce_a, 1),
                "Branch_1/Conv3d_0b_3x3": (sizes.reduce_a, sizes.three_a, 3),
                "Branch_2/Conv3d_0a_1x1": (sizes.inputs, sizes.reduce_b, 1),
                "Branch_2/Conv3d_0b_3x3": (sizes.reduce_b, sizes.three_b, 3),
                "Branch_3/Conv3d_0b_1x1": (sizes.inputs, sizes.pooled, 1),
            }
            pairs = {branch: unit(*shape) for branch, shape in shapes.items()}
            params[name] = {branch: pair[0] for branch, pair in pairs.items()}
            statistics[name] = {branch: pair[1] for branch, pair in pairs.items()}
    head = {"kernel": numbers.normal(size=(1, 1, 1, 1024, 400)).astype(np.float32), "bias": np.ones(400, np.float32)}
    params["Logits/Conv3d_0c_1x1"] = {"Conv_0": head}
    return {"params": params, "batch_stats": statistics}


def i3d_port(ours: Mapping[str, Tensor], *, port: str) -> dict[str, Tensor]:
    """Our state under the names of a port, written out from the port's own words."""
    piergiaj = port == "piergiaj"
    branches = {"b1a": "branch_1.0", "b1b": "branch_1.1", "b2a": "branch_2.0", "b2b": "branch_2.1", "b3": "branch_3.1"}
    state = {}
    for name, tensor in ours.items():
        first, *rest = name.split(".")
        if first == "logits":
            head = "logits" if piergiaj else "conv3d_0c_1x1"
            state[f"{head}.conv3d.{rest[0]}"] = tensor
            continue
        layer, *branch, part, kind = rest
        theirs = {"conv": "conv3d", "norm": "bn" if piergiaj else "batch3d"}[part]
        if piergiaj:
            inside = ["b3b" if each == "b3" else each for each in branch]
        else:
            inside = [branches.get(each, each.replace("b0", "branch_0")) for each in branch]
        layer = layer if piergiaj else layer[0].lower() + layer[1:]
        state[".".join([layer, *inside, theirs, kind])] = tensor
    return state


def resnext3d_shapes() -> Iterator[Named]:
    """As in the authors' file: blocks [3, 4, 23, 3], cardinality 32, every layer begins with a projection."""
    yield "module.conv1.weight", (64, 3, 7, 7, 7)
    yield from norm("module.bn1", 64)
    inputs = 64
    for layer, (blocks, width) in enumerate([(3, 128), (4, 256), (23, 512), (3, 1024)], 1):
        for block in range(blocks):
            name = f"module.layer{layer}.{block}"
            yield f"{name}.conv1.weight", (width, inputs, 1, 1, 1)
            yield from norm(f"{name}.bn1", width)
            yield f"{name}.conv2.weight", (width, width // 32, 3, 3, 3)
            yield from norm(f"{name}.bn2", width)
            yield f"{name}.conv3.weight", (2 * width, width, 1, 1, 1)
            yield from norm(f"{name}.bn3", 2 * width)
            if block == 0:
                yield f"{name}.downsample.0.weight", (2 * width, inputs, 1, 1, 1)
                yield from norm(f"{name}.downsample.1", 2 * width)
            inputs = 2 * width
    yield "module.fc.weight", (400, 2048)
    yield "module.fc.bias", (400,)


def csn_shapes() -> Iterator[Named]:
    """As mmaction2 writes them: a convolution and its normalisation in a module, the depthwise one in a list."""

    def unit(name: str, outputs: int, inputs: int, *kernel: int) -> Iterator[Named]:
        yield f"{name}.conv.weight", (outputs, inputs, *kernel)
        yield from norm(f"{name}.bn", outputs)

    yield from unit("backbone.conv1", 64, 3, 3, 7, 7)
    inputs = 64
    for layer, (blocks, width) in enumerate([(3, 64), (8, 128), (36, 256), (3, 512)], 1):
        for block in range(blocks):
            name = f"backbone.layer{layer}.{block}"
            yield from unit(f"{name}.conv1", width, inputs, 1, 1, 1)
            yield from unit(f"{name}.conv2.0", width, 1, 3, 3, 3)
            yield from unit(f"{name}.conv3", 4 * width, width, 1, 1, 1)
            if block == 0:
                yield from unit(f"{name}.downsample", 4 * width, inputs, 1, 1, 1)
            inputs = 4 * width
    yield "cls_head.fc_cls.weight", (400, 2048)
    yield "cls_head.fc_cls.bias", (400,)


def names_of_davidea(layer: str) -> str:
    return {"conv1a": "conv1", "conv2a": "conv2"}.get(layer, layer)


def names_of_mmaction2(layer: str) -> str:
    return f"{layer}.conv" if layer.startswith("conv") else layer


def names_of_caffe(layer: str) -> str:
    return f"{layer}-1" if layer.startswith("fc") else layer


def c3d_shapes(naming: Callable[[str], str]) -> Iterator[Named]:
    for layer, size in C3D_SIZES.items():
        if layer != "fc8" or naming is not names_of_mmaction2:  # which has no classifier
            yield f"{naming(layer)}.weight", size
            yield f"{naming(layer)}.bias", size[:1]


def bottom_up_shapes(width: int, blocks: tuple[int, ...], classes: int, attributes: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the published conversion, written out here without looking at our network."""
    shapes: dict[str, tuple[int, ...]] = {}

    def conv(name: str, inputs: int, outputs: int, kernel: int) -> None:
        shapes[f"{name}.weight"] = (outputs, inputs, kernel, kernel)
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.norm.{part}"] = (outputs,)

    def layer(name: str, outputs: int, *rest: int, bias: bool = True) -> None:
        shapes[f"{name}.weight"] = (outputs, *rest)
        if bias:
            shapes[f"{name}.bias"] = (outputs,)

    conv("backbone.stem.conv1", 3, width, 7)
    inputs, names = width, ("backbone.res2", "backbone.res3", "backbone.res4", "roi_heads.res5")
    for stage, (name, count) in enumerate(zip(names, (*blocks, 3), strict=True)):
        middle = width * 2**stage
        for block in range(count):
            if block == 0:
                conv(f"{name}.0.shortcut", inputs, 4 * middle, 1)
            conv(f"{name}.{block}.conv1", inputs, middle, 1)
            conv(f"{name}.{block}.conv2", middle, middle, 3)
            conv(f"{name}.{block}.conv3", middle, 4 * middle, 1)
            inputs = 4 * middle
    layer("proposal_generator.rpn_head.conv", 512, 16 * width, 3, 3)
    layer("proposal_generator.rpn_head.objectness_logits", 12, 512, 1, 1)
    layer("proposal_generator.rpn_head.anchor_deltas", 48, 512, 1, 1)
    layer("roi_heads.box_predictor.cls_score", classes + 1, inputs)
    layer("roi_heads.box_predictor.bbox_pred", 4 * classes, inputs)
    layer("roi_heads.box_predictor.cls_embedding", classes + 1, inputs // 8, bias=False)
    layer("roi_heads.box_predictor.fc_attr", inputs // 4, inputs + inputs // 8)
    layer("roi_heads.box_predictor.attr_score", attributes + 1, inputs // 4)
    return shapes


def caffe_shapes(width: int, blocks: tuple[int, ...], classes: int, attributes: int) -> dict[str, tuple[int, ...]]:
    """The other conversion's names: those that differ, and what only it has."""
    shapes = bottom_up_shapes(width, blocks, classes, attributes)
    head, rpn = "roi_heads.box_predictor", "proposal_generator.rpn_head"
    names = {"cls_embedding": "cls_embed", "fc_attr": "attr_linear1", "attr_score": "attr_linear2"}
    for ours, theirs in names.items():
        for part in ("weight", "bias"):
            if f"{head}.{ours}.{part}" in shapes:
                shapes[f"{head}.{theirs}.{part}"] = shapes.pop(f"{head}.{ours}.{part}")
    boxes = 4 * (classes + 1)
    shapes |= {f"{head}.bbox_pred.weight": (boxes, 32 * width), f"{head}.bbox_pred.bias": (boxes,)}
    shapes |= {f"{rpn}.objectness_logits.weight": (24, 512, 1, 1), f"{rpn}.objectness_logits.bias": (24,)}
    return shapes | {"backbone.stem.conv1.norm.num_batches_tracked": (), "pixel_mean": (3, 1, 1)}


def spynet_state(names: str, step: int) -> dict[str, Tensor]:
    """A state with the published shapes; every tensor is its own."""
    sizes = list(zip(spynet.CHANNELS[:-1], spynet.CHANNELS[1:], strict=True))
    torch.manual_seed(0)
    state = {}
    for level in range(6):
        for number, (inputs, outputs) in enumerate(sizes):
            name = names.format(level=level, number=number * step)
            state[f"{name}.weight"] = torch.randn(outputs, inputs, 7, 7)
            state[f"{name}.bias"] = torch.randn(outputs)
    return state
