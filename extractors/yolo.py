"""Objects of a segment by YOLOv4-tiny, pooled from an image network's and a motion network's maps.

VATEX's recipe (`mask_rcnn`) with networks that a CPU can run and whose weights need no hub: `image` is MobileNetV2,
`motion` I3D or none. Everything but the detector is `mask_rcnn`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from extractors.base import make_network, require_network
from extractors.mask_rcnn import TAKES, ObjectExtractor, maps_of, part, require_known
from extractors.parts.detection import yolo

__all__ = ["TAKES", "VERSION", "build", "map_published"]
VERSION = 1
map_published = yolo.map_published


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    device: str = "cpu",
    window: int = 32,  # noqa: ARG001 - any length will do
    regions: int = 10,
    image: str = "mobilenet_v2",
    motion: str = "i3d_rgb",
    short_side: int = 256,
    score_threshold: float = 0.05,
) -> ObjectExtractor:
    require_network(network, ["yolov4_tiny"])
    chosen = require_known(outputs, image=image, motion=motion, network=network)
    detector = make_network(network, yolo.Yolov4Tiny, part(weights, "detector"))
    maps = maps_of(chosen, outputs=outputs, weights=weights, short_side=short_side)
    found = yolo.Yolo(detector, score_threshold=score_threshold)
    return ObjectExtractor(found, maps, outputs=outputs, regions=regions, device=device)
