"""The flow extractor: pairs of neighbouring frames, cells, classes of motion, and colours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from extractors import flow
from extractors.base import UnknownOutputError
from pipeline.core.errors import UsageError
from pipeline.extraction import sampling
from pipeline.extraction.build_extractor import extractor_of
from pipeline.extraction.forward_pass import forward
from pipeline.extraction.task import make_task
from pipeline.extraction.weights_content import weights_files
from pipeline.params.extract import Extract, Sampling
from pipeline.store import open_store
from tests.clips import write_clip
from tests.extractors.textures import moved
from tests.store.making import extracted, index_of


def entry(**changes: object) -> Extract:
    values = {"family": "flow", "network": "tvl1", "weights": "none", "sampling": {"every": 2}, "outputs": ["flow"]}
    return Extract.model_validate(values | changes)


def test_every_second_frame_and_its_neighbour() -> None:
    """The frames move faster and faster; the rows are the moves 0 to 1 and 2 to 3, and of the last frame none."""
    pytest.importorskip("cv2", reason="the extra `flow` is not installed")
    places = [0.0, 1.0, 1.5, 3.0, 3.0]
    rows = sampling.sample(Sampling(every=2), frames=5, times=np.arange(5) / 25, lookahead=flow.BEYOND)
    extractor = extractor_of(entry(options={"size": 4, "short_side": 96}), device="cpu")

    found = forward(extractor, (moved(x, 0, height=96, width=128) for x in places), rows=rows)["flow"]

    assert found.shape == (3, 4, 4, 2)
    np.testing.assert_allclose(found[:, 1:3, 1:3, 0].mean((1, 2)), [1.0, 1.5, 0.0], atol=0.05)
    np.testing.assert_allclose(found[:, 1:3, 1:3, 1], 0, atol=0.05)


def test_cells_hold_the_mean_motion_of_their_part() -> None:
    flows = torch.zeros(1, 6, 8, 2)
    flows[0, :3, :4] = torch.tensor([2.0, -1.0])

    cells = flow.in_cells(flows, 2)

    assert cells[0].tolist() == [[[2.0, -1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]


def test_classes_of_motion_by_their_edges() -> None:
    lengths = torch.tensor([[0.0, 0.2], [0.25, 1.5], [16.0, 90.0], [8.0, 7.9]])
    flows = torch.stack([lengths, torch.zeros_like(lengths)], -1)[None]  # (1, 4, 2, 2)

    assert (flow.shares(flows)[0] * 8).tolist() == [2, 1, 0, 1, 0, 1, 1, 2]


def test_directions_have_the_usual_colours() -> None:
    """Right is red, left is cyan, down is yellow, up is blue; what rests is white."""
    moves = torch.tensor([[4.0, 0.0], [-4.0, 0.0], [0.0, 4.0], [0.0, -4.0], [0.0, 0.0]]).view(1, 1, 5, 2)

    right, left, down, up, rest = flow.painted(moves)[0, 0].int().tolist()

    assert right[0] > 200 > 60 > max(right[1:])
    assert min(left[1:]) > 150 > 60 > left[0]
    assert min(down[:2]) > 150 > 60 > down[2]
    assert up[2] > 200 > up[1]
    assert rest == [255, 255, 255]


def test_an_unknown_output_lists_the_known() -> None:
    with pytest.raises(UnknownOutputError, match="it has: flow, magnitude"):
        flow.build("spynet", outputs=["angle"], weights=None)


@pytest.mark.parametrize("frames", [1, 2, 17])
def test_through_the_real_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frames: int) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "videos").mkdir()
    write_clip(tmp_path / "videos" / "clip.mp4", frames=frames)
    options = {"size": 7, "short_side": 32}
    params = entry(
        network="spynet", weights="random", outputs=["flow", "magnitude"], sampling={"every": 4}, options=options
    )

    extracted(index_of(tmp_path / "videos", tmp_path / "index"), tmp_path / "store", params=params)

    features = open_store(tmp_path / "store")["clip"]
    assert features["flow"].shape == (-(-frames // 4), 7, 7, 2)
    np.testing.assert_allclose(features["magnitude"].sum(1), 1, rtol=1e-6)


def test_a_network_without_weights_is_refused_where_none_was_asked_for() -> None:
    """`none` is for methods that have no weights; it must never mean an untrained network."""
    with pytest.raises(UsageError, match="spynet is a network, and these weights bring none for it"):
        extractor_of(entry(network="spynet"), device="cpu")


def test_a_method_without_weights_says_so_in_its_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cv2", reason="the extra `flow` is not installed")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    assert weights_files("none") == []
    task = make_task("flow", entry(), weights_sha256="none", device="cpu")

    assert task.record["weights"] == "none"
    assert task.record["preprocessing"]["flow_library"].startswith("opencv ")
