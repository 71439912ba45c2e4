"""The flow stream of I3D: exact scaling, one frame more than maps, both published ports, rows beside the pictures'."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from extractors import i3d, i3d_flow
from extractors.base import ExtractorError, make_network
from extractors.parts import i3d_network, optical_flow
from extractors.parts.optical_flow import FlowMethod
from pipeline.extraction import sampling
from pipeline.params.extract import Extract, Sampling
from pipeline.store import open_store
from pipeline.weights import converted_path
from tests.clips import write_clip
from tests.extractors.published import i3d_port
from tests.store.making import extracted, index_of

WEIGHTS = Path(__file__).parents[2] / "weights"
SAMPLES = os.environ.get("FRAMESCRIBE_I3D_SAMPLES", "")  # folder with DeepMind's v_CricketShot_g04_c01_{rgb,flow}.npy
TAP = "MaxPool3d_2a_3x3"  # early, hence cheap
CRICKET = 227  # playing cricket, by its place in the 400 Kinetics classes


class Brightening(FlowMethod):
    """The cheapest flow: to the right by as many grey levels as the picture gets brighter."""

    has_weights = False
    facts = {"flow": "brightening"}  # noqa: RUF012 - a test double

    def __init__(self, name: str, **_: Any) -> None: ...

    def between(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        change = (second - first).mean(1) * 255  # (N, H, W)
        return torch.stack([change, torch.zeros_like(change)], 1)


@pytest.fixture(autouse=True)
def cheap_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(optical_flow.METHODS, "brightening", Brightening)


@pytest.fixture(scope="module")
def flow_network() -> i3d_network.I3d:
    return make_network("i3d_flow", lambda: i3d_network.I3d(channels=2), None)


@pytest.mark.parametrize(
    ("pixels", "plain", "eight_bit"),
    [
        (0.0, 0.0, 2 * 128 / 255 - 1),
        (20.0, 1.0, 1.0),
        (-20.0, -1.0, -1.0),
        (35.5, 1.0, 1.0),
        (-1000.0, -1.0, -1.0),
        (5.0, 0.25, 2 * 160 / 255 - 1),  # 128 + 31.875 is 159.875
        (-0.05, -0.0025, 2 * 128 / 255 - 1),  # less than half a grey level is lost
    ],
)
def test_flow_is_truncated_at_20_pixels_and_scaled(pixels: float, plain: float, eight_bit: float) -> None:
    flows = torch.tensor([pixels])

    assert float(i3d_flow.scaled(flows)) == pytest.approx(plain, abs=1e-7)
    assert float(i3d_flow.scaled(flows, eight_bit=True)) == pytest.approx(eight_bit, abs=1e-7)


def test_taps_are_those_of_the_pictures() -> None:
    taps = ["Conv3d_2c_3x3", "Mixed_5c", "pool", "logits", "grid"]
    extractor = i3d_flow.build("i3d_flow", outputs=taps, weights=None, flow="brightening")

    assert extractor.outputs == {
        "Conv3d_2c_3x3": (8, 56, 56, 192),
        "Mixed_5c": (2, 7, 7, 1024),
        "pool": (1024,),
        "logits": (400,),
        "grid": (7, 7, 2048),
    }
    assert extractor.network.layers["Conv3d_1a_7x7"].conv.weight.shape == (64, 2, 7, 7, 7)


def test_the_network_sees_the_middle_of_the_flow_of_the_resized_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = i3d_flow.build("i3d_flow", outputs=["Conv3d_1a_7x7"], weights=None, window=3, flow="brightening")
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(extractor, "run", lambda clips: seen.append(clips) or {})
    frames = [np.full((128, 200, 3), level, np.uint8) for level in (10, 15, 55, 51)]
    batch = torch.stack([extractor.prepare(frame) for frame in frames])[None]

    extractor(batch)

    assert batch.shape == (1, 4, 3, 256, 400)
    assert seen[0].shape == (1, 2, 3, 224, 224)
    expected = torch.tensor([[5 / 20, 1.0, -4 / 20], [0, 0, 0]]).view(1, 2, 3, 1, 1).expand(1, 2, 3, 224, 224)
    torch.testing.assert_close(seen[0], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("port", ["piergiaj", "hassony2"])
def test_the_published_torch_ports_load_strictly(flow_network: i3d_network.I3d, port: str) -> None:
    theirs = i3d_port(flow_network.state_dict(), port=port)
    assert {"piergiaj": "Mixed_4c.b3b.bn.running_var", "hassony2": "mixed_4c.branch_3.1.batch3d.running_var"}[
        port
    ] in theirs

    mapped = i3d.map_published(theirs)

    i3d_network.I3d(channels=2).load_state_dict(mapped)
    for name, tensor in flow_network.state_dict().items():
        assert mapped[name] is tensor or torch.equal(mapped[name], tensor), name


def test_old_checkpoints_without_batch_counts_load_too(flow_network: i3d_network.I3d) -> None:
    theirs = {k: v for k, v in i3d_port(flow_network.state_dict(), port="piergiaj").items() if "num_batches" not in k}
    i3d_network.I3d(channels=2).load_state_dict(i3d.map_published(theirs))


def test_a_bundle_brings_both_networks(flow_network: i3d_network.I3d) -> None:
    torch.manual_seed(5)
    spynet = optical_flow.spynet.SpynetNetwork().state_dict()
    both = {f"flow.{name}": tensor for name, tensor in spynet.items()}
    both |= {f"i3d.{name}": tensor for name, tensor in flow_network.state_dict().items()}

    extractor = i3d_flow.build("i3d_flow", outputs=["Conv3d_1a_7x7"], weights=both, flow="spynet")

    found = extractor.method.network.state_dict()["basic_module.3.basic_module.4.weight"]
    assert torch.equal(found, spynet["basic_module.3.basic_module.4.weight"])
    assert extractor.preprocessing["flow"] == "spynet"


def test_i3d_alone_is_refused_where_the_flow_needs_weights(flow_network: i3d_network.I3d) -> None:
    state = flow_network.state_dict()

    i3d_flow.build("i3d_flow", outputs=["Conv3d_1a_7x7"], weights=state, flow="brightening")
    with pytest.raises(ExtractorError, match="raft_small is a network, and these weights bring none"):
        i3d_flow.build("i3d_flow", outputs=["Conv3d_1a_7x7"], weights=state, flow="raft_small")


def test_the_method_and_its_rounding_are_part_of_the_fingerprint() -> None:
    def facts(**options: Any) -> dict[str, Any]:
        return dict(
            i3d_flow.build("i3d_flow", outputs=["Conv3d_1a_7x7"], weights=None, window=2, **options).preprocessing
        )

    assert len({str(facts(flow=flow)) for flow in ("brightening", "raft_small", "spynet")}) == 3
    assert facts(flow="spynet", eight_bit=True) != facts(flow="spynet")


def test_clips_of_every_length_give_the_rows_of_the_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the real path: decoding, windows with the frame after them, the store."""
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    lengths = [1, 2, 15, 16, 17, 100]
    videos = tmp_path / "videos"
    videos.mkdir()
    for frames in lengths:
        write_clip(videos / f"clip{frames}.mp4", frames=frames, width=96, height=80)
    rule = {"window": 16, "stride": 16, "tail": "pad"}
    params = Extract.model_validate(
        {
            "family": "i3d_flow",
            "network": "i3d_flow",
            "weights": "random",
            "sampling": rule,
            "outputs": [TAP],
            "options": {"flow": "brightening"},
            "dtype": "float16",
        }
    )

    extracted(index_of(videos, tmp_path / "index"), tmp_path / "store", params=params)

    store = open_store(tmp_path / "store")
    for frames in lengths:
        features = store[f"clip{frames}"]
        rows = sampling.sample(Sampling(**rule), frames=frames, times=np.arange(frames) / 25)  # type: ignore[arg-type]
        assert features[TAP].shape == (len(rows), 8, 56, 56, 64)
        assert np.isfinite(features[TAP]).all()
    # a single frame does not move: what comes out is the network's answer to no motion at all
    still = i3d_flow.build("i3d_flow", outputs=[TAP], weights=None, flow="brightening")
    answer = still.run(torch.zeros(1, 2, 16, 224, 224))[TAP].numpy()
    np.testing.assert_allclose(store["clip1"][TAP], answer, rtol=1e-2, atol=1e-3)


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLES, reason="FRAMESCRIBE_I3D_SAMPLES names no folder with DeepMind's sample arrays")
@pytest.mark.parametrize(
    ("stream", "channels", "norm", "top"),
    [("rgb", 3, 87.108871, 25.856646), ("flow", 2, 63.252754, 15.957031), ("joint", 0, 138.468658, 41.813675)],
)
def test_deepminds_cricket(stream: str, channels: int, norm: float, top: float) -> None:
    streams = {"rgb": 3, "flow": 2} if stream == "joint" else {stream: channels}
    logits = sum(_cricket_logits(each, count) for each, count in streams.items())

    assert float(logits.norm()) == pytest.approx(norm, rel=1e-4)
    assert int(logits.argmax()) == CRICKET
    assert float(logits.max()) == pytest.approx(top, rel=1e-4)


def _cricket_logits(stream: str, channels: int) -> torch.Tensor:
    from safetensors.torch import load_file

    path = converted_path(f"i3d_{stream}", folder=WEIGHTS)
    if not path.is_file():
        pytest.skip(f"framescribe weights fetch i3d_{stream}")
    array = np.load(Path(SAMPLES) / f"v_CricketShot_g04_c01_{stream}.npy", allow_pickle=False)  # (1, 79, 224, 224, C)
    family, name = (i3d, "i3d_rgb") if channels == 3 else (i3d_flow, "i3d_flow")
    extractor = family.build(name, outputs=["logits"], weights=load_file(path), window=79)
    return extractor.run(torch.from_numpy(array).float().permute(0, 4, 1, 2, 3))["logits"][0]
