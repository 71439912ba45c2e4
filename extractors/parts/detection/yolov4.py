"""YOLOv4-tiny (Wang, Bochkovskiy, Liao 2021), COCO's 80 classes: a detector small enough for any CPU.

As darknet runs it: the picture stretched to a square, two heads at strides 32 and 16 whose cells each propose three
boxes, suppression class by class. Its weights are a file of numbers without names, in the order of the layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torchvision.ops import batched_nms
from torchvision.transforms.v2 import functional as transforms

from extractors.parts import engines
from extractors.parts.detection.base import Detector
from extractors.parts.detection.coco import coco_ids
from extractors.parts.detection.geometry import clip_boxes
from extractors.parts.detection.selection import best_first

SIDE = 416  # pixels; the anchors are sizes in a picture of this side
ANCHORS = ((10, 14), (23, 27), (37, 58), (81, 82), (135, 169), (344, 319))
HEADS = {"coarse": (3, 4, 5), "fine": (1, 2, 3)}  # which anchors each has; the smallest is in neither
CLASSES = 80
SCALE_XY = 1.05  # a centre can lie a little outside of its cell, and so on its border
SAME = 0.45  # overlap of two boxes of a class above which the worse is dropped
EPSILON = 1e-5  # of darknet's normalisation


class DarknetConv(nn.Sequential):
    def __init__(self, channels: int, filters: int, size: int = 3, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(channels, filters, size, stride, padding=size // 2, bias=False),
            nn.BatchNorm2d(filters, eps=EPSILON),
            nn.LeakyReLU(0.1),
        )


class CspBlock(nn.Module):
    """A cross-stage partial block: half of the channels go through two convolutions, all go on."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.whole = DarknetConv(channels, channels)
        self.first = DarknetConv(half, half)
        self.second = DarknetConv(half, half)
        self.joined = DarknetConv(channels, channels, size=1)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        """What the next stage gets, (B, 2C, H, W), and what the fine head can: (B, C, H, W)."""
        whole = self.whole(maps)
        first = self.first(whole.chunk(2, 1)[1])
        joined = self.joined(torch.cat([self.second(first), first], 1))
        return torch.cat([whole, joined], 1), joined


class Yolov4Tiny(nn.Module):
    """The layers in the order in which the published file has them."""

    def __init__(self) -> None:
        super().__init__()
        numbers = 3 * (4 + 1 + CLASSES)
        self.stem = nn.Sequential(DarknetConv(3, 32, stride=2), DarknetConv(32, 64, stride=2))
        self.stages = nn.ModuleList(CspBlock(channels) for channels in (64, 128, 256))
        self.halve = nn.MaxPool2d(2)
        self.last = DarknetConv(512, 512)
        self.neck = DarknetConv(512, 256, size=1)
        self.coarse = nn.Sequential(DarknetConv(256, 512), nn.Conv2d(512, numbers, 1))
        self.lift = nn.Sequential(DarknetConv(256, 128, size=1), nn.Upsample(scale_factor=2))
        self.fine = nn.Sequential(DarknetConv(384, 256), nn.Conv2d(256, numbers, 1))

    def forward(self, pictures: Tensor) -> dict[str, Tensor]:
        """(B, 3, S, S) in 0..1 -> what each head says, (B, 3 * 85, S / 32, S / 32) and twice as fine."""
        maps = self.stem(pictures)
        for stage in self.stages:
            maps, joined = stage(maps)
            maps = self.halve(maps)
        neck = self.neck(self.last(maps))
        return {"coarse": self.coarse(neck), "fine": self.fine(torch.cat([self.lift(neck), joined], 1))}


class Yolo(Detector):
    def __init__(self, network: Yolov4Tiny, *, score_threshold: float) -> None:
        super().__init__()
        self.network = network.eval()
        self.score_threshold = score_threshold
        self.taps = {"boxes": (4,), "scores": (), "classes": ()}
        with torch.no_grad(), engines.ConvBNTracer() as tracer:
            self.network(torch.zeros(1, 3, 32, 32))
        engines.fold_batch_norms(self.network, tracer.pairs())
        engines.in_channels_last(self.network)
        self.register_buffer("ids", torch.tensor(coco_ids()), persistent=False)

    preprocessing: Mapping[str, Any] = {
        "resize": [SIDE, SIDE],
        "interpolation": "bilinear",
        "antialias": False,
        "resize_library": "torch float32",
        "scale": "0..1",
        "channels": "RGB",
    }

    def forward(self, picture: Tensor, regions: int) -> dict[str, Tensor]:
        stretched = transforms.resize(picture.float() / 255, [SIDE, SIDE], antialias=False)
        boxes, scores = decoded(self.network(stretched[None]))
        height, width = picture.shape[1:]
        boxes, inside = clip_boxes(boxes * boxes.new_tensor([width, height, width, height]), height=height, width=width)
        best, kinds = scores.max(1)  # one class per region: a second one would be the same pixels again
        likely = ((best > self.score_threshold) & inside).nonzero()[:, 0]
        kept = likely[batched_nms(boxes[likely], best[likely], kinds[likely], SAME)]
        kept = kept[best_first(best[kept], count=regions)]
        return {"boxes": boxes[kept], "scores": best[kept], "classes": self.get_buffer("ids")[kinds[kept]]}


def decoded(heads: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Boxes as shares of the picture, (R, 4), and the probability of each class in them, (R, 80)."""
    found = [_decoded(heads[name][0], [ANCHORS[number] for number in chosen]) for name, chosen in HEADS.items()]
    return torch.cat([boxes for boxes, _ in found]), torch.cat([scores for _, scores in found])


def _decoded(head: Tensor, anchors: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    rows, columns = head.shape[1:]
    said = head.view(len(anchors), -1, rows, columns).permute(2, 3, 0, 1)  # (h, w, anchors, 85)
    grid = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    cells = torch.stack([grid[1], grid[0]], -1)[:, :, None].to(head)  # (h, w, 1, 2), x before y
    centres = (said[..., :2].sigmoid() * SCALE_XY - (SCALE_XY - 1) / 2 + cells) / head.new_tensor([columns, rows])
    sizes = said[..., 2:4].exp() * head.new_tensor(anchors) / SIDE
    boxes = torch.cat([centres - sizes / 2, centres + sizes / 2], -1)
    scores = said[..., 4:5].sigmoid() * said[..., 5:].sigmoid()
    return boxes.reshape(-1, 4), scores.reshape(-1, CLASSES)


def map_published(tree: Mapping[str, Any]) -> dict[str, Tensor]:
    """Layer by layer: of a normalisation shift, scale, mean and variance; or a bias; then the kernel."""
    numbers = np.asarray(tree["numbers"])
    with torch.device("meta"):
        layers = list(_shapes(Yolov4Tiny()))
    expected = sum(shape.numel() for _, shape in layers)
    if len(numbers) != expected:
        raise ValueError(f"it has {len(numbers):,} numbers instead of {expected:,}")
    pieces = torch.from_numpy(numbers).split([shape.numel() for _, shape in layers])
    return {name: piece.view(shape) for (name, shape), piece in zip(layers, pieces, strict=True)}


def _shapes(network: Yolov4Tiny) -> Iterator[tuple[str, torch.Size]]:
    """Names and shapes of the state in the order of the file."""
    state = network.state_dict()
    convolutions = [name for name, module in network.named_modules() if isinstance(module, nn.Conv2d)]
    for name in convolutions:
        if f"{name}.bias" in state:
            before = [f"{name}.bias"]
        else:
            norm = f"{name.rpartition('.')[0]}.1"
            before = [f"{norm}.{part}" for part in ("bias", "weight", "running_mean", "running_var")]
        yield from ((each, state[each].shape) for each in [*before, f"{name}.weight"])
