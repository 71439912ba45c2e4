"""Where marks lie on a frame, and in which seconds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pipeline.report.overlays import row_edges, seen_part, views, wanted_frames
from tests.report.conftest import attention


@pytest.mark.parametrize(
    ("preprocessing", "size", "expected"),
    [
        ({"resize_short_side": 256, "centre_crop": 224}, (256, 256), (0.0625, 0.0625, 0.9375, 0.9375)),
        ({"resize_short_side": 96, "centre_crop": 64}, (128, 96), (0.25, 0.1667, 0.75, 0.8333)),
        ({"resize": 128, "crop": 112}, (128, 256), (0.0625, 0.2812, 0.9375, 0.7188)),
        ({"resize": [128, 171], "crop": [8, 29]}, (320, 240), (0.1696, 0.0625, 0.8246, 0.9375)),
        ({"resize": [112, 112], "crop": [0, 0]}, (320, 240), (0.0, 0.0, 1.0, 1.0)),
        ({"resize": [112, 112]}, (320, 240), (0.0, 0.0, 1.0, 1.0)),
        ({}, (320, 240), (0.0, 0.0, 1.0, 1.0)),
    ],
    ids=["square", "wide", "tall", "C3D", "C3D direct", "whole", "unknown"],
)
def test_a_grid_lies_on_what_the_network_saw(
    preprocessing: dict[str, object], size: tuple[int, int], expected: tuple[float, ...]
) -> None:
    assert seen_part(preprocessing, size) == pytest.approx(expected, abs=2e-4)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20, unique=True), st.floats(0.1, 5))
def test_rows_share_the_whole_time_in_their_order(starts: list[float], length: float) -> None:
    times = np.array([[start, start + length] for start in sorted(starts)])

    edges = row_edges(times, duration=200.0)

    assert edges[0] == 0
    assert edges[-1] == 200.0
    assert len(edges) == len(starts) + 1
    assert edges == sorted(edges)


def test_rows_whose_times_nobody_knows_share_the_video_evenly() -> None:
    assert row_edges(np.full((4, 2), np.nan), duration=8.0) == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_all_views_of_a_sentence() -> None:
    looks = attention(3) | {"slot": np.full((3, 2), 0.5)}
    facts = {"columns": {"layer": ["low", "high"], "slot": ["nothing", "sound"]}, "cut": {}}

    found = views(looks, facts=facts, size=(128, 96), duration=2.0, picture=lambda frame: frame, moment=round)

    assert np.argmax(found["time"], 1).tolist() == [0, 3, 7]
    assert found["cells"]["frames"] == [0, 2, 4]
    assert found["cells"]["maps"][1] == [[50, 650, 50, 50], [50, 50, 50, 50]]
    first, second = found["regions"][0]
    assert (first["frame"], second["frame"]) == (3, 12)
    assert first["boxes"] == [[0, 0, 0.5, 0.5, 800], [0.5, 0.5, 1, 1, 200]]
    assert second["boxes"] == [[0.25, 0.25, 0.75, 0.75, 1000]]  # a region without weight is not drawn
    assert found["layer"] == {"names": ["low", "high"], "weights": [[250, 750]] * 3}
    assert found["slot"] == {"names": ["nothing", "sound"], "weights": [[500, 500]] * 3}
    assert found["view"]["names"] == ["0", "1"]  # nobody said what they are called
    assert (found["refocus"]["rows"], found["refocus"]["seconds"]) == ([4, 5], [1.12, 1.38])
    assert wanted_frames(looks, frames=12) == [0, 2, 3, 4]  # frame 12 is beyond the end
