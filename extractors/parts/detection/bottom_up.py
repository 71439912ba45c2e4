"""Bottom-up attention: Faster R-CNN on ResNet-101 C4, 1600 Visual Genome objects and 400 attributes (Anderson 2018).

As in the authors' Caffe network: the stride of a stage in its first 1x1 convolution, a stem pooling without padding
and with a last partial window, ROIPool 14x14 on res4, res5 dilated instead of strided, pixels counted inclusively
(a box from 0 to 15 is 16 wide). A feature belongs to a *proposal*; the detector's box regression is never applied,
so the network does not even have it. Module names are those of the published detectron2 conversion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.ops import nms, roi_pool

from extractors.parts import engines
from extractors.parts.detection.base import Detector
from extractors.parts.detection.geometry import limited_scale, pad_to, resize_exactly
from extractors.parts.detection.selection import best_first, best_regions

BLOCKS = {50: (3, 4, 6), 101: (3, 4, 23), 152: (3, 8, 36)}  # of res2, res3, res4; res5 has three
MEANS = (102.9801, 115.9465, 122.7717)  # blue, green, red
STRIDE = 16
SCALES, RATIOS = (4, 8, 16, 32), (0.5, 1.0, 2.0)
PROPOSAL_NMS = 0.7
BEFORE_NMS, MIN_SIZE = 6000, 16
CELLS = 14
REGIONS_AT_ONCE = 100  # of res5: 300 would need 1.5 GB for one frame


class NormConv(nn.Conv2d):
    """Convolution without bias, then batch normalisation."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, dilation: int = 1) -> None:
        padding = dilation * (kernel // 2)
        super().__init__(inputs, outputs, kernel, stride, padding, dilation, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, maps: Tensor) -> Tensor:
        return self.norm(super().forward(maps))


class Stem(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = NormConv(3, width, 7, stride=2)

    def forward(self, pictures: Tensor) -> Tensor:
        return F.max_pool2d(F.relu(self.conv1(pictures)), 3, 2, padding=0, ceil_mode=True)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, middle: int, *, stride: int, dilation: int) -> None:
        super().__init__()
        outputs = 4 * middle
        self.shortcut = NormConv(inputs, outputs, 1, stride=stride) if inputs != outputs else None
        self.conv1 = NormConv(inputs, middle, 1, stride=stride)
        self.conv2 = NormConv(middle, middle, 3, dilation=dilation)
        self.conv3 = NormConv(middle, outputs, 1)

    def forward(self, maps: Tensor) -> Tensor:
        through = self.conv3(F.relu(self.conv2(F.relu(self.conv1(maps)))))
        return F.relu(through + (maps if self.shortcut is None else self.shortcut(maps)))


def make_stage(inputs: int, middle: int, *, blocks: int, stride: int, dilation: int = 1) -> nn.Sequential:
    first = Bottleneck(inputs, middle, stride=stride, dilation=dilation)
    rest = (Bottleneck(4 * middle, middle, stride=1, dilation=dilation) for _ in range(blocks - 1))
    return nn.Sequential(first, *rest)


def make_backbone(width: int, blocks: Sequence[int]) -> nn.Sequential:
    """The picture to res4, which has 16 `width` channels."""
    backbone = nn.Sequential()
    backbone.add_module("stem", Stem(width))
    inputs = width
    for number, (count, stride) in enumerate(zip(blocks, (1, 2, 2), strict=True)):
        middle = width << number
        backbone.add_module(f"res{number + 2}", make_stage(inputs, middle, blocks=count, stride=stride))
        inputs = 4 * middle
    return backbone


class RpnHead(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        anchors = len(SCALES) * len(RATIOS)
        self.conv = nn.Conv2d(inputs, hidden, 3, padding=1)
        self.objectness_logits = nn.Conv2d(hidden, anchors, 1)
        self.anchor_deltas = nn.Conv2d(hidden, 4 * anchors, 1)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        """(1, C, h, w) -> objectness (h w A,) and deltas (h w A, 4), the anchors of a cell beside each other."""
        hidden = F.relu(self.conv(maps))
        objectness, deltas = self.objectness_logits(hidden)[0], self.anchor_deltas(hidden)[0]
        return objectness.permute(1, 2, 0).flatten(), deltas.permute(1, 2, 0).reshape(-1, 4)


class BoxHeads(nn.Module):
    """Class and attribute of a region; index 0 is the background of both. The attribute sees the likeliest class."""

    def __init__(self, inputs: int, classes: int, attributes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(inputs, classes + 1)
        self.cls_embedding = nn.Embedding(classes + 1, inputs // 8)
        self.fc_attr = nn.Linear(inputs + inputs // 8, inputs // 4)
        self.attr_score = nn.Linear(inputs // 4, attributes + 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(R, D) -> probabilities (R, classes) and (R, attributes) without the background's."""
        logits = self.cls_score(features)
        named = torch.cat([features, self.cls_embedding(logits.argmax(1))], 1)
        attributes = self.attr_score(F.relu(self.fc_attr(named)))
        return logits.softmax(1)[:, 1:], attributes.softmax(1)[:, 1:]


class BottomUp(Detector):
    anchors: Tensor

    def __init__(
        self,
        *,
        blocks: Sequence[int] = BLOCKS[101],
        width: int = 64,
        hidden: int = 512,
        classes: int = 1600,
        attributes: int = 400,
        proposals: int = 300,
        short_side: int = 600,
        long_side: int = 1000,
    ) -> None:
        super().__init__()
        self.limits = {"short_side": short_side, "long_side": long_side}
        self.proposals = proposals
        channels = 32 * width
        self.backbone = make_backbone(width, blocks)
        self.proposal_generator = nn.ModuleDict({"rpn_head": RpnHead(16 * width, hidden)})
        res5 = make_stage(16 * width, 8 * width, blocks=3, stride=1, dilation=2)
        heads = BoxHeads(channels, classes, attributes)
        self.roi_heads = nn.ModuleDict({"res5": res5, "box_predictor": heads})
        self.register_buffer("anchors", caffe_anchors())  # part of the weights: conversions use different ones
        numbers = ("scores", "classes", "attributes", "attribute_scores")
        self.taps = {"boxes": (4,), "features": (channels,)} | dict.fromkeys(numbers, ())
        self.preprocessing = {
            "resize_short_side": short_side,
            "largest_long_side": long_side,
            "interpolation": "bilinear",
            "antialias": False,
            "resize_library": "torch grid_sample, exact scale",
            "scale": "0..255",
            "mean": list(MEANS),
            "channels": "BGR",
        }

    def fold(self) -> BottomUp:
        """Normalisation becomes part of the kernels, and these get the fastest layout: 1.3 times as fast on a CPU."""
        self.eval()
        convolutions = [each for each in self.modules() if isinstance(each, NormConv)]
        engines.fold_batch_norms(self, [(id(each.weight), id(each.norm.running_mean)) for each in convolutions])
        engines.in_channels_last(self)
        return self

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        height, width = picture.shape[1:]
        scale = limited_scale(height, width, **self.limits)
        maps, size = self._res4(picture, scale)
        rois = self._propose(maps, size=size, min_size=MIN_SIZE * scale)
        features = self._pool(maps, rois)
        classes, attributes = self.roi_heads["box_predictor"](features)
        return choose(rois / scale, features, classes, attributes, regions=regions)

    def _res4(self, picture: Tensor, scale: float) -> tuple[Tensor, tuple[int, int]]:
        """The map of the resized picture, and the resized size. Pictures of a few lines are padded to one cell."""
        means = torch.tensor(MEANS, device=picture.device)
        resized = resize_exactly(picture.flip(0).float() - means[:, None, None], scale=scale)
        size = (resized.shape[1], resized.shape[2])
        return self.backbone(pad_to(resized[None], (max(size[0], STRIDE), max(size[1], STRIDE)))), size

    def _propose(self, maps: Tensor, *, size: tuple[int, int], min_size: float) -> Tensor:
        """(P, 4) proposals in the resized picture, the likeliest objects first."""
        objectness, deltas = self.proposal_generator["rpn_head"](maps)
        boxes = decode(anchor_grid(self.anchors, maps.shape[2], maps.shape[3]), deltas)
        last = boxes.new_tensor([size[1] - 1, size[0] - 1]).repeat(2)
        boxes = boxes.clamp(min=torch.zeros_like(last), max=last)
        large = (boxes[:, 2:] - boxes[:, :2] + 1 >= min_size).all(1)
        boxes, objectness = boxes[large], objectness[large]
        order = best_first(objectness, count=BEFORE_NMS)
        boxes, objectness = boxes[order], objectness[order]
        kept = nms(boxes + boxes.new_tensor([0, 0, 1, 1]), objectness, PROPOSAL_NMS)
        return boxes[kept[: self.proposals]]

    def _pool(self, maps: Tensor, rois: Tensor) -> Tensor:
        """(R, D): res5 of every region's 14x14 cells of res4, averaged."""
        parts = [maps.new_empty(0, self.taps["features"][0])]
        for some in rois.split(REGIONS_AT_ONCE) if len(rois) else ():
            cells = roi_pool(maps, [some], CELLS, spatial_scale=1 / STRIDE)  # (r, C, 14, 14)
            parts.append(self.roi_heads["res5"](cells).mean((2, 3)))
        return torch.cat(parts)


def choose(boxes: Tensor, features: Tensor, classes: Tensor, attributes: Tensor, *, regions: int) -> dict[str, Tensor]:
    """The best regions; a class is the likeliest one, whether or not it gave the score, as the authors store it."""
    kept, scores = best_regions(boxes, classes, count=regions, pixel=1)
    likeliest = attributes[kept].max(1)
    return {
        "boxes": boxes[kept],
        "features": features[kept],
        "scores": scores,
        "classes": classes[kept].argmax(1),
        "attributes": likeliest.indices,
        "attribute_scores": likeliest.values,
    }


def caffe_anchors() -> Tensor:
    """(A, 4) centre x, centre y, width, height; ratio by ratio. Caffe rounds sides at stride 16, then scales."""
    widths = [round(STRIDE / math.sqrt(ratio)) for ratio in RATIOS]
    sides = [(width, round(width * ratio)) for width, ratio in zip(widths, RATIOS, strict=True)]
    return torch.tensor([(8.0, 8.0, width * scale, height * scale) for width, height in sides for scale in SCALES])


def detectron_anchors() -> Tensor:
    """(A, 4) as above, but size by size, with exact areas, and around the cell's corner."""
    sizes = [STRIDE * scale for scale in SCALES]
    shapes = [(size / math.sqrt(ratio), size * math.sqrt(ratio)) for size in sizes for ratio in RATIOS]
    return torch.tensor([(0.0, 0.0, *shape) for shape in shapes])


def anchor_grid(anchors: Tensor, height: int, width: int) -> Tensor:
    """(h w A, 4): the anchors of every cell, row by row."""
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    shifts = STRIDE * torch.stack([columns, rows], -1).flatten(0, 1).to(anchors)  # (h w, 2)
    return (F.pad(shifts, (0, 2))[:, None] + anchors).flatten(0, 1)


def decode(anchors: Tensor, deltas: Tensor) -> Tensor:
    """Boxes x1, y1, x2, y2 from (centre, size) and the predicted shifts and log-factors."""
    largest = math.log(1000 / 16)  # as everyone bounds it, so that exp stays finite
    centres = anchors[:, :2] + deltas[:, :2] * anchors[:, 2:]
    halves = anchors[:, 2:] * deltas[:, 2:].clamp(max=largest).exp() / 2
    return torch.cat([centres - halves, centres + halves], 1)
