"""Optical flow: known motion is found, direction and units are the same for every method, padding changes nothing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from extractors.base import ExtractorError, MissingPackageError
from extractors.parts.optical_flow import METHODS, FlowMethod, flow_method, raft, spynet, tvl1
from pipeline.weights import converted_path
from tests.extractors.published import spynet_state
from tests.extractors.textures import clip, error

SPYNET = converted_path("spynet", folder=Path(__file__).parents[2] / "weights")
MOTIONS = [(1, 0), (0, -1), (0.5, -0.25), (3, 2), (-4.5, 1.5)]


@pytest.fixture(scope="module")
def tvl1_flow() -> FlowMethod:
    pytest.importorskip("cv2", reason="the extra `flow` is not installed")
    return flow_method("tvl1")


@pytest.fixture(scope="module")
def raft_flow() -> FlowMethod:
    return flow_method("raft_small")


@pytest.mark.parametrize(("x", "y"), MOTIONS)
def test_tvl1_finds_a_known_motion(tvl1_flow: FlowMethod, x: float, y: float) -> None:
    assert error(tvl1_flow(clip((0, 0), (x, y)))[0], x, y) < 0.06


def test_tvl1_of_a_still_clip_is_zero(tvl1_flow: FlowMethod) -> None:
    assert float(tvl1_flow(clip((0, 0), (0, 0))).abs().max()) == 0.0


@pytest.mark.skipif(not SPYNET.is_file(), reason="framescribe weights fetch spynet")
@pytest.mark.parametrize(("x", "y"), [*MOTIONS, (0, 0)])
def test_spynet_finds_a_known_motion(x: float, y: float) -> None:
    from safetensors.torch import load_file

    method = flow_method("spynet", weights=load_file(SPYNET))

    assert error(method(clip((0, 0), (x, y)))[0], x, y) < 0.1


def test_bytes_and_floats_from_0_to_1_give_the_same_flow(tvl1_flow: FlowMethod) -> None:
    frames = clip((0, 0), (1, 1), height=48, width=64)

    assert torch.equal(tvl1_flow(frames), tvl1_flow(frames.float() / 255))


@pytest.mark.parametrize("name", METHODS)
def test_frames_of_any_size_give_one_map_fewer(name: str) -> None:
    if name == "tvl1":
        pytest.importorskip("cv2", reason="the extra `flow` is not installed")
    flows = flow_method(name)(clip((0, 0), (1, 0), (2, 0), height=45, width=70))

    assert flows.shape == (2, 45, 70, 2)
    assert flows.dtype == torch.float32
    assert bool(flows.isfinite().all())


def test_one_frame_has_no_flow() -> None:
    with pytest.raises(ValueError, match="two frames or more, got 1"):
        flow_method("spynet")(clip((0, 0)))


@pytest.mark.parametrize(
    ("height", "width", "padding"),
    [(128, 128, [0, 0, 0, 0]), (256, 340, [2, 2, 0, 0]), (45, 131, [2, 3, 41, 42]), (129, 456, [0, 0, 3, 4])],
)
def test_raft_gets_sides_it_takes(height: int, width: int, padding: list[int]) -> None:
    left, right, top, bottom = raft.padding_of(height, width)

    assert [left, right, top, bottom] == padding
    assert (height + top + bottom) % 8 == (width + left + right) % 8 == 0
    assert min(height + top + bottom, width + left + right) >= 128


def test_raft_of_a_padded_clip_is_the_flow_of_the_clip(raft_flow: FlowMethod) -> None:
    frames = clip((0, 0), (1, 0), height=126, width=131)
    left, right, top, bottom = padding = raft.padding_of(126, 131)
    padded = F.pad(frames.permute(0, 3, 1, 2).float() / 255, padding, mode="replicate").permute(0, 2, 3, 1)

    inside = raft_flow(padded)[:, top : top + 126, left : left + 131]

    assert max(left, right, top, bottom) > 0
    torch.testing.assert_close(raft_flow(frames), inside, rtol=1e-5, atol=1e-5)


def test_raft_gets_values_from_minus_1_to_1(raft_flow: FlowMethod, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []

    def network(one: torch.Tensor, other: torch.Tensor, **_: Any) -> list[torch.Tensor]:
        seen.extend([one, other])
        return [one[:, :2]]

    monkeypatch.setattr(raft_flow, "network", network)
    white_then_black = torch.zeros(2, 128, 128, 3, dtype=torch.uint8)
    white_then_black[0] = 255
    raft_flow(white_then_black)

    assert [float(frame.unique()) for frame in seen] == [1.0, -1.0]


def test_rafts_updates_can_be_told_and_are_a_fact_of_the_flow(raft_flow: FlowMethod) -> None:
    frames = clip((0, 0), (1, 0), height=128, width=128)
    twenty = flow_method("raft_small", updates=20)

    assert (raft_flow.facts["flow_updates"], twenty.facts["flow_updates"]) == (12, 20)
    assert not torch.allclose(raft_flow(frames), twenty(frames), atol=1e-4)
    with pytest.raises(ExtractorError, match="updates is 20; only RAFT has any"):
        flow_method("spynet", updates=20)


def test_warping_undoes_a_motion() -> None:
    """A picture moved by (3, 2) looks like the first one again, seen along the flow (3, 2)."""
    first, second = clip((0, 0), (3, 2)).permute(0, 3, 1, 2).float()
    flow = torch.tensor([3.0, 2.0]).view(1, 2, 1, 1).expand(1, 2, 128, 160)

    warped = spynet.warp(second[None], flow)[0]

    torch.testing.assert_close(warped[:, :-2, :-3], first[:, :-2, :-3], rtol=0, atol=0.01)


@pytest.mark.parametrize(
    ("names", "step", "wrapped"),
    [
        ("spynet.basic_module.{level}.basic_module.{number}", 2, True),
        ("basic_module.{level}.basic_module.{number}.conv", 1, False),
        ("moduleBasic.{level}.moduleBasic.{number}", 2, False),
    ],
    ids=["inside BasicVSR", "mmediting", "sniklaus"],
)
def test_published_spynets_load_strictly_and_land_where_they_belong(names: str, step: int, wrapped: bool) -> None:
    state = spynet_state(names, step)
    tree = {"params": {**state, "conv_last.weight": torch.zeros(3)}} if wrapped else state
    network = spynet.SpynetNetwork()
    network.load_state_dict(spynet.map_published(tree))

    theirs = state[f"{names.format(level=4, number=3 * step)}.weight"]
    assert torch.equal(network.basic_module[4].basic_module[6].weight, theirs)


def test_spynet_scales_the_flow_back_to_the_frames_own_size() -> None:
    """48 x 80 is stretched to 64 x 96: a correction of one pixel there is less than one here."""
    method = flow_method("spynet")
    state = {name: torch.zeros_like(tensor) for name, tensor in method.network.state_dict().items()}
    finest = "basic_module.5.basic_module.8.bias"
    method.network.load_state_dict({**state, finest: torch.ones(2), "std": torch.ones(1, 3, 1, 1)})

    flow = method(clip((0, 0), (0, 0), height=48, width=80))[0]

    torch.testing.assert_close(flow, torch.tensor([80 / 96, 48 / 64]).expand(48, 80, 2))


def test_an_unknown_method_lists_the_known() -> None:
    with pytest.raises(
        ExtractorError, match="no optical flow 'farneback'; known: tvl1, raft_small, raft_large, spynet"
    ):
        flow_method("farneback")


@pytest.mark.parametrize("installed", [False, True], ids=["no OpenCV", "OpenCV without contrib"])
def test_missing_opencv_names_the_extra(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> object:
        if not installed:
            raise ModuleNotFoundError(name)
        return object()

    monkeypatch.setattr(importlib, "import_module", find)
    with pytest.raises(MissingPackageError, match="needs the package opencv-contrib-python-headless") as caught:
        tvl1.opencv()
    assert caught.value.extra == "flow"


def test_what_was_computed_before_does_not_matter(tvl1_flow: FlowMethod) -> None:
    """The solver keeps its buffers: other frames, and frames of another size, must leave no trace."""
    frames = clip((0, 0), (1, 1), height=48, width=64)
    first = tvl1_flow(frames)
    tvl1_flow(clip((5, 5), (0, 0), height=64, width=48))

    assert torch.equal(tvl1_flow(frames), first)
