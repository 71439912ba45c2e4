"""What is computed of every family for its record: small networks with random weights, on pictures and sounds that are
made of whole numbers, through the same sampling, batching and casting as in `framescribe extract`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from typing import Any

import numpy as np
import torch

from extractors import c3d, c3d_video, csn, flow, i3d, resnext3d, soundnet
from extractors.base import AudioExtractor, Extractor
from pipeline.catalogue import family_module, lookahead_of
from pipeline.decoding import Audio
from pipeline.extraction.audio_features import audio_rows
from pipeline.extraction.forward_pass import forward_all
from pipeline.extraction.sampling import sample
from pipeline.params import Sampling
from tests.extractors.test_detectron import stand_in
from tests.extractors.tiny_transformers import TINY

HEIGHT, WIDTH = 283, 371  # larger than what networks take, and odd: every resize makes smaller and has to round
FPS = 25
SECONDS = 2.3  # of sound
DETECTED = ("boxes", "scores", "classes", "count")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One network of a family. `gain` multiplies kernels, by patterns of their names: an untrained network gets quieter
    with every layer until only the last bias is left, and an untrained detector likes all its boxes equally."""

    network: str
    outputs: Sequence[str] = ("pool",)
    sampling: Mapping[str, Any] = field(default_factory=lambda: {"every": 1})
    frames: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    gain: Mapping[str, float] = field(default_factory=dict)


def window(size: int, **rest: Any) -> dict[str, Any]:
    return {"window": size, "stride": size, "tail": "pad", **rest}


RCNN = {"*cls_score.weight": 300.0, "*cls_logits.weight": 30.0}
SMALL_RCNN = {"short_side": 96, "long_side": 128, "proposals": 40, "regions": 4}
SMALL_OBJECTS = {"detector_short_side": 96, "detector_long_side": 128, "proposals": 40, "short_side": 64, "regions": 3}
OBJECTS = (*DETECTED, "image", "motion", "features")
MOBILE = "fasterrcnn_mobilenet_v3_large_320_fpn"
I3D_GAIN = {"*.conv.weight": 2.4}  # times He's deviation over torch's own

PICTURES = ("clip", "siglip", "dinov2", "dinov2_with_registers", "dinov3_vit", "dinov3_convnext")

CASES: dict[str, dict[str, Case]] = {
    "c3d": {
        "window": Case(network="c3d", outputs=c3d.OUTPUTS, sampling=window(16), frames=18),
        "direct": Case(network="c3d", outputs=["pool1"], sampling=window(2), frames=2, options={"direct": True}),
    },
    "c3d_video": {
        "whole": Case(network="c3d", outputs=c3d_video.OUTPUTS, sampling=window(16), frames=19),
    },
    "clips": {
        "r3d_18": Case(
            network="torchvision:r3d_18",
            outputs=["pool", "stem", "layer1", "layer2", "layer3", "layer4"],
            sampling=window(4, every=2),
            frames=11,
        ),
        "swin3d_t": Case(  # channels last in between
            network="torchvision:swin3d_t", outputs=["pool", "features.0", "features.6"], sampling=window(2), frames=2
        ),
    },
    "csn": {
        "vmz": Case(network="ir_csn50", outputs=csn.OUTPUTS, sampling=window(4), frames=5),
        "mmaction2": Case(
            network="ir_csn50",
            outputs=["layer1"],
            sampling=window(1),
            options={"normalisation": "mmaction2", "resize": "opencv"},
        ),
    },
    "detectron": {
        "pyramid": Case(network="pyramid", outputs=("features", *DETECTED), frames=2),
        "c4": Case(network="c4", outputs=("features", *DETECTED)),
    },
    "faster_rcnn": {
        "bottom_up_r50": Case(
            network="bottom_up_r50",
            outputs=("features", "attributes", "attribute_scores", *DETECTED),
            options=SMALL_RCNN | {"proposals": 12},
            gain={"*cls_score.weight": 30.0, "*attr_score.weight": 100.0, "*objectness_logits.weight": 100.0},
        ),
        "torchvision": Case(
            network=f"torchvision:{MOBILE}", outputs=("features", *DETECTED), frames=2, options=SMALL_RCNN, gain=RCNN
        ),
    },
    "flow": {
        method: Case(network=method, outputs=flow.OUTPUTS, frames=3, options={"short_side": 64, "size": 7})
        for method in ("tvl1", "spynet", "raft_small")
    },
    "frames": {
        "mobilenet_v2": Case(network="mobilenet_v2", outputs=["pool", "grid", "features.7"], frames=10),
        "transformer": Case(network="timm:test_vit", outputs=["pool", "grid", "blocks.2"], frames=2),
        "opencv": Case(network="timm:test_resnet", outputs=["pool", "grid"], options={"resize": "opencv"}),
        "pil": Case(network="timm:test_convnext", outputs=["pool", "grid"], options={"resize": "pil"}),
    },
    "i3d": {
        "small": Case(  # 17 frames are three steps, of which the logits take two pairs
            network="i3d_rgb", outputs=i3d.OUTPUTS, sampling=window(17), frames=18, options={"side": 64}, gain=I3D_GAIN
        ),
    },
    "i3d_flow": {
        # two pairs that move; where the window is filled up nothing does, and TV-L1 is done at once
        "tvl1": Case(network="i3d_flow", outputs=i3d.OUTPUTS, sampling=window(9), frames=3, gain=I3D_GAIN),
        "spynet": Case(
            network="i3d_flow",
            outputs=["Conv3d_1a_7x7"],
            sampling={"every": 1, "window": 1, "stride": 2},
            frames=2,
            options={"flow": "spynet", "eight_bit": True},
        ),
        "raft_small": Case(
            network="i3d_flow",
            outputs=["Conv3d_1a_7x7"],
            sampling={"every": 1, "window": 1, "stride": 2},
            frames=2,
            options={"flow": "raft_small"},
        ),
    },
    "mask_rcnn": {
        motion: Case(
            network=MOBILE,
            outputs=OBJECTS,
            sampling=window(3),
            frames=4,
            options={"image": "mobilenet_v2", "motion": motion, "score_threshold": 0.0, **SMALL_OBJECTS},
            gain=RCNN | I3D_GAIN,
        )
        for motion in ("i3d_rgb", "ir_csn50", "r3d_18")
    },
    "openl3": {
        "mel128 v0.4": Case(network="mel128_env", sampling={"hop": 0.7}),
        "mel256 v0.3": Case(
            network="mel256_music", sampling={"hop": 2.0}, options={"frontend": "v0.3", "embedding": 6144}
        ),
        "linear": Case(network="linear_env", sampling={"hop": 2.0}, options={"center": False}),
    },
    "resnext3d": {
        "resnext50_3d": Case(network="resnext50_3d", outputs=resnext3d.OUTPUTS, sampling=window(8), frames=9),
    },
    "soundnet": {
        "soundnet8": Case(
            network="soundnet8",
            outputs=soundnet.OUTPUTS,
            sampling={"hop": 0.9, "tail": "pad"},
            options={"seconds": 1.6},
            gain={"*.conv.weight": 2.4},
        ),
    },
    "transformers": {
        name: Case(
            network=f"transformers:{name}",
            outputs=["pool", "tokens", "hidden.1", *(["embed"] if name in ("clip", "siglip", "xclip", "clap") else [])],
            sampling=window(4) if tiny.window else {"every": 1} if name in PICTURES else {"hop": 0.9, "tail": "pad"},
            frames=5,
            options=tiny.options(name) | ({"seconds": 0.8} if name == "whisper" else {}),
            gain={"*": 4.0},
        )
        for name, tiny in TINY.items()
    },
    "vggish": {
        activation: Case(
            network="vggish",
            sampling={"hop": 0.5, "tail": "pad"} if activation == "raw" else {"hop": 3.0},
            options={"activation": activation},
            gain={"*": 2.4},
        )
        for activation in ("raw", "relu", "pca")
    },
    "yolo": {
        "i3d_rgb": Case(
            network="yolov4_tiny",
            outputs=OBJECTS,
            sampling=window(3),
            frames=4,
            options={"score_threshold": 0.05, "short_side": 64, "regions": 4},
            gain={"network.*": 2.4, "network.*e.1.weight": 4.0} | I3D_GAIN,
        ),
    },
}


def computed(family: str) -> Iterator[tuple[str, np.ndarray]]:
    """Everything that the family's cases give: prepared inputs, outputs, and the table of their rows."""
    for name, case in CASES[family].items():
        extractor = built(family, case)
        results = heard if isinstance(extractor, AudioExtractor) else partial(seen, lookahead=lookahead_of(family))
        for output, array in results(extractor, case):
            yield f"{name}: {output}", array


def built(family: str, case: Case) -> Extractor:
    if family == "detectron":  # whether or not the package is installed
        return of_stand_in(case)
    lengths = {"window": case.sampling["window"]} if "window" in case.sampling else {}
    extractor = family_module(family).build(
        case.network, outputs=list(case.outputs), weights=None, **lengths, **case.options
    )
    for network in networks(extractor):
        amplify(network, case.gain)
    return extractor


def networks(extractor: Extractor) -> list[torch.nn.Module]:
    parts = [getattr(extractor, name, None) for name in ("network", "detector")] + [
        *getattr(extractor, "maps", {}).values()
    ]
    return [part for part in parts if isinstance(part, torch.nn.Module)]


def of_stand_in(case: Case) -> Extractor:
    family = family_module("detectron")
    twice = {"resize": lambda frame: frame.repeat(2, 0).repeat(2, 1), "preprocessing": {}}
    detector = family.DetectronRegions(stand_in(pyramid=case.network == "pyramid"), **twice)
    return family.RegionExtractor(detector, outputs=case.outputs, regions=4, device="cpu")


@torch.no_grad()
def amplify(network: torch.nn.Module, gain: Mapping[str, float]) -> None:
    for name, weight in network.named_parameters():
        for pattern, factor in gain.items():
            if fnmatch(name, pattern) and weight.dim() > 1:
                weight *= factor
    for module in network.modules():
        if isinstance(module, torch.nn.Conv2d) and module.groups == module.in_channels:
            module.weight *= module.in_channels**0.5  # torchvision's own makes each of these kernels too small


def seen(extractor: Extractor, case: Case, *, lookahead: int) -> Iterator[tuple[str, np.ndarray]]:
    frames = [picture(number) for number in range(case.frames)]
    yield "prepare", extractor.prepare(frames[0]).numpy()
    times = np.arange(case.frames) / FPS
    rows = sample(Sampling.model_validate(case.sampling), frames=case.frames, times=times, lookahead=lookahead)
    yield "rows", np.stack([rows.first, rows.last, rows.start, rows.end, rows.valid], 1)
    yield from forward_all([extractor], [frames[number] for number in rows.needed], rows=rows)[0].items()


def heard(extractor: AudioExtractor, case: Case) -> Iterator[tuple[str, np.ndarray]]:
    samples = sound(extractor.rate)
    yield "prepare", extractor.prepare(samples[: extractor.window]).numpy()
    audio = Audio(samples, extractor.rate, "present", 0.0, SECONDS)
    rule, times = Sampling.model_validate(case.sampling), np.arange(round(SECONDS * FPS)) / FPS
    outputs, rows = audio_rows(extractor, audio, rule=rule, times=times, duration=SECONDS)
    yield "rows", np.stack([rows.first_frame, rows.last_frame, rows.start, rows.end, rows.valid], 1)
    yield from outputs.items()


def picture(number: int) -> np.ndarray:
    """uint8 (283, 371, 3): a plane of blocks with sharp edges and grain, which moves by (2, 1) per frame."""
    numbers = np.random.RandomState(0)
    blocks = numbers.randint(0, 160, (40, 52, 3)).repeat(8, 0).repeat(8, 1)  # (320, 416, 3)
    plane = blocks + numbers.randint(0, 96, blocks.shape)
    top, left = number, 2 * number
    return plane[top : top + HEIGHT, left : left + WIDTH].astype(np.uint8)


def sound(rate: int) -> np.ndarray:
    """float32 (samples,) in -1..1: square waves, one of which rises, in noise."""
    clock = np.arange(round(SECONDS * rate), dtype=np.int64)
    steady = clock * 880 // rate % 2
    rising = clock * (200 * rate + 600 * clock) // rate**2 % 2
    noise = np.random.RandomState(0).randint(-2000, 2001, len(clock))
    return ((9000 * (2 * steady - 1) + 7000 * (2 * rising - 1) + noise) / 32768).astype(np.float32)
