"""Chart geometry: round ticks that enclose the data, points inside the frame, numbers also as text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from pipeline.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, chart, nice_steps

VALUES = st.floats(min_value=-1e4, max_value=1e4, allow_nan=False).map(lambda value: round(value, 4))


@given(VALUES, VALUES)
def test_steps_enclose_the_range_evenly(first: float, second: float) -> None:
    low, high = sorted((first, second))

    steps = nice_steps(low, high)

    span = max(abs(low), abs(high), 1e-9)
    assert steps[0] <= low + 1e-6 * span
    assert steps[-1] >= high - 1e-6 * span
    assert 2 <= len(steps) <= 8
    gaps = [after - before for before, after in pairwise(steps)]
    assert max(gaps) - min(gaps) < 1e-6 * span


@given(st.dictionaries(st.integers(0, 200), VALUES, min_size=1, max_size=30))
def test_points_stay_inside_the_frame(points: dict[int, float]) -> None:
    curve = sorted((float(epoch), value) for epoch, value in points.items())

    drawn = chart("train_loss", curves={"run": curve}, colors={"run": 0}, chosen={})

    for dot in drawn.lines[0].dots:
        assert LEFT <= dot.x <= WIDTH - RIGHT
        assert TOP - 0.1 <= dot.y <= HEIGHT - BOTTOM + 0.1


def test_higher_values_are_drawn_higher_and_the_kept_epoch_is_marked() -> None:
    drawn = chart("val_cider", curves={"a": [(1, 0.2), (2, 0.9)]}, colors={"a": 3}, chosen={"a": 2})

    low, high = drawn.lines[0].dots
    assert high.y < low.y
    assert [low.chosen, high.chosen] == [False, True]
    assert drawn.lines[0].color == 3
    assert drawn.title == "Validation CIDEr-D"


def test_the_table_has_a_dash_where_a_run_has_no_value() -> None:
    curves = {"long": [(1.0, 3.0), (2.0, 2.0)], "short": [(1.0, 3.5)]}

    drawn = chart("train_loss", curves=curves, colors={"long": 0, "short": 1}, chosen={})

    assert drawn.table == [("1", ["3.0000", "3.5000"]), ("2", ["2.0000", "–"])]
    assert "short goes from 3.5 at epoch 1" in drawn.description
