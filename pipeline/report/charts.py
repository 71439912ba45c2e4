"""Geometry of the learning curves: ticks, points and labels in the units of the SVG; the template draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 440, 264
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 12, 40
TITLES = {
    "train_loss": "Training loss",
    "val_cider": "Validation CIDEr-D",
    "val_loss": "Validation loss",
    "reward": "Reward of sampled captions",
}

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Dot:
    x: float
    y: float
    label: str
    chosen: bool  # the epoch whose checkpoint was kept


@dataclass(frozen=True, kw_only=True)
class Curve:
    name: str
    color: int
    path: str
    dots: list[Dot]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One quantity of every run against the epoch."""

    key: str
    title: str
    description: str
    lines: list[Curve]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    table: list[tuple[str, list[str]]]  # epoch, one cell per run: the same numbers for a screen reader
    axis: str = "epoch"
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def chart(
    column: str,
    *,
    curves: dict[str, Points],
    colors: dict[str, int],
    chosen: dict[str, float],
    title: str = "",
    axis: str = "epoch",
) -> Chart:
    """`curves`: run -> (epoch, value); `chosen`: run -> the epoch that was kept. `axis` may be another than epochs."""
    epochs = [x for points in curves.values() for x, _ in points]
    values = [y for points in curves.values() for _, y in points]
    x_range = (min(epochs), max(max(epochs), min(epochs) + 1))
    y_steps = nice_steps(min(0.0, *values) if min(values) < max(values) / 3 else min(values), max(values))
    y_range = (y_steps[0], y_steps[-1])
    title = title or TITLES.get(column, column.replace("_", " ").capitalize())
    return Chart(
        key=column,
        title=title,
        description=_describe(title, curves, axis),
        lines=[
            _line(name, points, colors[name], chosen.get(name), x_range, y_range, axis)
            for name, points in curves.items()
        ],
        x_ticks=[Tick(at=_x(step, x_range), label=f"{step:g}") for step in _x_steps(*x_range, whole=axis == "epoch")],
        y_ticks=[Tick(at=_y(step, y_range), label=f"{step:.6g}") for step in y_steps],
        table=_table(curves),
        axis=axis,
    )


def nice_steps(low: float, high: float, *, count: int = 5) -> list[float]:
    """About `count` round values (1, 2, 2.5 or 5 times a power of ten) that enclose the range."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / count))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= span / count * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * position, 12) for position in range(first, max(last, first + 1) + 1)]


def _x_steps(low: float, high: float, *, whole: bool) -> list[float]:
    steps = [step for step in nice_steps(low, high, count=6) if low <= step <= high]
    return [step for step in steps if step == int(step) or not whole] or [low, high]


def _line(
    name: str,
    points: Points,
    color: int,
    chosen: float | None,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    axis: str,
) -> Curve:
    dots = [
        Dot(
            x=_x(epoch, x_range),
            y=_y(value, y_range),
            label=f"{name}, {axis} {epoch:g}: {value:.4g}",
            chosen=epoch == chosen,
        )
        for epoch, value in points
    ]
    return Curve(name=name, color=color, path=" ".join(f"{dot.x:g},{dot.y:g}" for dot in dots), dots=dots)


def _x(epoch: float, limits: tuple[float, float]) -> float:
    return round(LEFT + (epoch - limits[0]) / (limits[1] - limits[0]) * (WIDTH - LEFT - RIGHT), 1)


def _y(value: float, limits: tuple[float, float]) -> float:
    return round(HEIGHT - BOTTOM - (value - limits[0]) / (limits[1] - limits[0]) * (HEIGHT - TOP - BOTTOM), 1)


def _describe(title: str, curves: dict[str, Points], axis: str) -> str:
    stories = [
        f"{name} goes from {points[0][1]:.3g} at {axis} {points[0][0]:g} to {points[-1][1]:.3g} at {axis} "
        f"{points[-1][0]:g} (lowest {min(y for _, y in points):.3g}, highest {max(y for _, y in points):.3g})"
        for name, points in curves.items()
    ]
    return f"{title} by {axis}: {'; '.join(stories)}."


def _table(curves: dict[str, Points]) -> list[tuple[str, list[str]]]:
    columns = [dict(points) for points in curves.values()]
    epochs = sorted({epoch for column in columns for epoch in column})
    return [
        (f"{epoch:g}", [f"{column[epoch]:.4f}" if epoch in column else "–" for column in columns]) for epoch in epochs
    ]
