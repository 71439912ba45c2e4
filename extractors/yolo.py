"""Objects of a segment by YOLOv4-tiny, pooled from an image network's and a motion network's maps.

VATEX's recipe (`mask_rcnn`) with networks that a CPU can run and whose weights need no hub: `image` is MobileNetV2,
`motion` I3D or none. Everything but the detector is the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from extractors.base import Takes, make_network, require_network
from extractors.parts.detection import yolov4
from extractors.parts.detection.object_extractor import ObjectExtractor, maps_of, part, require_known

VERSION = 1
TAKES: Takes = "clips"
map_published = yolov4.map_published


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
    detector = make_network(network, yolov4.Yolov4Tiny, part(weights, "detector"))
    maps = maps_of(chosen, outputs=outputs, weights=weights, short_side=short_side)
    found = yolov4.Yolo(detector, score_threshold=score_threshold)
    return ObjectExtractor(found, maps, outputs=outputs, regions=regions, device=device)
