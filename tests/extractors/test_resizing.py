"""Each library resizes as it does when called directly; every family that resizes frames can be told which one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as transforms

from extractors.parts import resizing
from extractors.parts.resizing import Resizing, output_size
from pipeline.core.errors import MissingToolError, UsageError
from pipeline.extraction.build_extractor import extractor_of
from pipeline.extraction.task import make_task
from pipeline.params.extract import Extract
from pipeline.params.file import parse_params

SIZES = [(240, 320), (321, 200), (719, 1281), (90, 60), (112, 112), (1, 3)]
CLIPS = {"window": 16, "stride": 16, "tail": "pad"}
FAMILIES = {
    "frames": ("squeezenet1_1", "pool", {"every": 1}),
    "i3d": ("i3d_rgb", "Conv3d_1a_7x7", CLIPS),
    "i3d_flow": ("i3d_flow", "Conv3d_1a_7x7", CLIPS),
    "flow": ("spynet", "flow", {"every": 1}),
    "clips": ("torchvision:r3d_18", "pool", CLIPS),
    "csn": ("ir_csn50", "layer1", CLIPS),
    "resnext3d": ("resnext50_3d", "layer1", CLIPS),
    "c3d": ("c3d", "pool1", CLIPS),
    "c3d_video": ("c3d", "pool2", CLIPS),
}
OWN_WAY = {
    "faster_rcnn": ("bottom_up_r50", "features", {"every": 1}),
    "mask_rcnn": ("torchvision:maskrcnn_resnet50_fpn", "boxes", CLIPS),
    "yolo": ("yolov4_tiny", "boxes", CLIPS),
    "vggish": ("vggish", "pool", {"hop": 0.96}),
}


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=(height, width, 3), dtype=np.uint8)


def smooth(height: int, width: int) -> np.ndarray:
    """Noise of a few pixels' size, as photographs have it."""
    small = Image.fromarray(noise(max(1, height // 8), max(1, width // 8)))
    return np.array(small.resize((width, height), Image.Resampling.BICUBIC))


def entry(family: str, *, resize: str = "published") -> Extract:
    network, output, sampling = {**FAMILIES, **OWN_WAY}[family]
    facts = {"family": family, "network": network, "weights": "random", "outputs": [output], "sampling": sampling}
    options = {"flow": "spynet"} if family == "i3d_flow" else {}
    return Extract.model_validate({**facts, "options": options, "resize": resize})


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [112, (128, 171)])
def test_a_library_gives_what_it_gives_when_called_directly(height, width, interpolation, size) -> None:
    frame = noise(height, width)
    high, wide = output_size(frame, size)
    picture = torch.from_numpy(frame).permute(2, 0, 1)
    direct = {
        "torch": transforms.resize(picture, [high, wide], InterpolationMode(interpolation), antialias=True).numpy(),
        "pil": np.array(Image.fromarray(frame).resize((wide, high), Image.Resampling[interpolation.upper()])),
    }
    direct["pil"] = direct["pil"].transpose(2, 0, 1)

    for library, expected in direct.items():
        found = Resizing(interpolation=interpolation).by(library)(frame, size)
        assert found.dtype == torch.uint8
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_opencv_gives_what_it_gives_when_called_directly(height: int, width: int, interpolation: str) -> None:
    cv2 = pytest.importorskip("cv2", reason="pip install 'framescribe[flow]'")
    frame, mode = noise(height, width), {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}[interpolation]
    high, wide = output_size(frame, 112)

    found = Resizing(interpolation=interpolation).by("opencv")(frame, 112)

    np.testing.assert_array_equal(found.permute(1, 2, 0).numpy(), cv2.resize(frame, (wide, high), interpolation=mode))


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_the_long_side_is_the_one_that_torchvision_chooses(height: int, width: int) -> None:
    frame = noise(height, width)
    theirs = transforms.resize(torch.from_numpy(frame).permute(2, 0, 1), [112])

    assert output_size(frame, 112) == tuple(theirs.shape[1:])
    assert output_size(frame, (128, 171)) == (128, 171)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("make", [noise, smooth])
def test_torch_and_pil_differ_by_one_grey_level_at_most(height: int, width: int, make) -> None:
    frame = make(height, width)
    torch_, pil = (Resizing().by(library)(frame, 112).int() for library in ("torch", "pil"))

    assert int((torch_ - pil).abs().max()) <= 1


def test_torch_without_antialiasing_is_opencv_within_one_grey_level() -> None:
    pytest.importorskip("cv2", reason="pip install 'framescribe[flow]'")
    plain = Resizing(method="torch_float", antialias=False)
    found, theirs = (how(noise(240, 320), 112).int() for how in (plain, plain.by("opencv")))

    assert int((found - theirs).abs().max()) <= 1
    assert int((found - plain.by("pil")(noise(240, 320), 112).int()).abs().max()) > 20


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_resizes_as_it_is_told_and_says_so(family: str) -> None:
    pytest.importorskip("cv2", reason="pip install 'framescribe[flow]'")
    frame = smooth(480, 640)
    made = {name: extractor_of(entry(family, resize=name), device="cpu") for name in ("torch", "opencv", "pil")}
    prepared = {name: each.prepare(frame).float() for name, each in made.items()}
    apart = {name: float((prepared[name] - prepared["torch"]).abs().max()) for name in ("pil", "opencv")}

    said = {name: each.preprocessing["resize_library"].split()[0] for name, each in made.items()}
    assert said == {"torch": "torch", "opencv": "opencv", "pil": "pil"}
    assert {name: each.preprocessing["antialias"] for name, each in made.items()}["opencv"] is False
    assert apart["opencv"] > 3 * apart["pil"]  # PIL and torch are one grey level apart, OpenCV is not
    assert len({each.shape for each in prepared.values()}) == 1


def test_the_library_is_part_of_the_fingerprint_and_nothing_else_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    usual, pil = (
        make_task("x", entry("frames", resize=resize), weights_sha256="", device="cpu").record
        for resize in ("published", "pil")
    )
    assert (usual["extractor"].pop("resize"), pil["extractor"].pop("resize")) == ("published", "pil")
    assert usual["preprocessing"].pop("resize_library") != pil["preprocessing"].pop("resize_library")
    assert usual == pil


@pytest.mark.parametrize("family", OWN_WAY)
def test_a_family_that_cannot_be_told_refuses_it_by_name(family: str) -> None:
    with pytest.raises(UsageError, match=rf"'{family}' cannot be told how to resize frames \(resize: pil\)"):
        extractor_of(entry(family, resize="pil"), device="cpu")


def test_a_library_that_does_not_exist_is_refused() -> None:
    values = {"family": "frames", "network": "x", "weights": "random", "sampling": {"every": 1}, "resize": "opencv2"}
    with pytest.raises(UsageError, match=r"extract\.x\.resize: .*'published', 'torch', 'opencv' or 'pil'"):
        parse_params({"extract": {"x": values}}, source="params.yaml")


def test_a_missing_opencv_is_said_before_anything_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingToolError, match=r"resize: opencv needs the package opencv(.|\n)*framescribe\[flow\]"):
        extractor_of(entry("frames", resize="opencv").model_copy(update={"outputs": ["grid"]}), device="cpu")


def test_every_library_of_params_is_one_of_ours() -> None:
    assert Extract.model_fields["resize"].annotation == resizing.ResizeLibrary


def test_frames_are_prepared_as_their_networks_transform_does_with_pictures_of_pil() -> None:
    """In floats, as it does with tensors, one pixel in ten would be a grey level off."""
    extractor, frame = extractor_of(entry("frames"), device="cpu"), smooth(240, 320)
    theirs = extractor.transform(Image.fromarray(frame))

    assert float((extractor.prepare(frame) != theirs).float().mean()) < 0.01
