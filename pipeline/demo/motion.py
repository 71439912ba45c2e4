"""Where things are: a pure function from an event and a frame number to a pose, and from there to a box."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pipeline.demo.scene import HEIGHT, WIDTH, Event, Scene, SceneItem

INSIDE = (0.18, 0.82)  # a centre between these keeps a large item wholly in the picture
OUTSIDE = (-0.22, 1.22)  # and at these it is wholly out of it
ROLLING = ("ball", "ring")
BYSTANDER_PLACES = ((0.24, 0.56), (0.76, 0.56))


@dataclass(frozen=True)
class Pose:
    """Centre in fractions of width and height, scale of the item's size, degrees counter-clockwise."""

    x: float
    y: float
    scale: float = 1.0
    angle: float = 0.0


def _between(ends: tuple[float, float], t: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * t


def _across(event: Event, t: float) -> Pose:
    x = _between(OUTSIDE if event.through else INSIDE, t)
    return Pose(x, _between((0.35, 0.65), event.lane), angle=_rolled(event.item, x))


def _rolled(item: SceneItem, x: float) -> float:
    """How far a round thing has turned on its way; without a pattern nobody could see it."""
    if item.shape not in ROLLING or item.texture == "plain":
        return 0.0
    radius = item.size * HEIGHT / 2 / WIDTH  # in the units of x
    return -math.degrees(x / radius)


def _upward(event: Event, t: float) -> Pose:
    ends = (1.3, -0.3) if event.through else (0.74, 0.26)
    return Pose(_between((0.3, 0.7), event.lane), _between(ends, t))


def _nearer(event: Event, t: float) -> Pose:
    return Pose(_between((0.4, 0.6), event.lane), 0.5, scale=_between((0.35, 1.6), t))


def _spinning(event: Event, t: float) -> Pose:
    return Pose(_between((0.35, 0.65), event.lane), 0.5, angle=_between((0, 400), t))


def _bouncing(event: Event, t: float) -> Pose:
    return Pose(_between((0.3, 0.7), event.lane), 0.74 - 0.46 * abs(math.sin(3 * math.pi * t)))


def _resting(event: Event, t: float) -> Pose:
    return Pose(0.5 + 0.01 * t, _between((0.55, 0.75), event.lane))


def _passing(event: Event, t: float) -> Pose:
    x, y = _between((0.04, 0.96), t), _between((0.45, 0.75), event.lane)
    return Pose(x if event.lane < 0.5 else 1 - x, y)


def _hopping(event: Event, t: float) -> Pose:
    return Pose(_between((0.46, 0.54), event.lane), 0.78 - 0.3 * abs(math.sin(3 * math.pi * t)))


_POSES: dict[str, Callable[[Event, float], Pose]] = {
    "right": _across,
    "left": lambda event, t: _across(event, 1 - t),
    "up": _upward,
    "down": lambda event, t: _upward(event, 1 - t),
    "closer": _nearer,
    "away": lambda event, t: _nearer(event, 1 - t),
    "spin": _spinning,
    "bounce": _bouncing,
    "rest": _resting,
    "pass": _passing,
    "hop": _hopping,
}


def pose(event: Event, frame: int) -> Pose | None:
    """None when the event is not going on."""
    if not event.first <= frame < event.end:
        return None
    return _POSES[event.motion](event, (frame - event.first) / (event.end - event.first - 1))


def bystander_poses(scene: Scene) -> list[tuple[SceneItem, Pose]]:
    return [(item, Pose(*place)) for item, place in zip(scene.bystanders, BYSTANDER_PLACES, strict=False)]


def box(item: SceneItem, at: Pose) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom in pixels, cut at the picture's edge; None when outside. Ignores rotation."""
    half = item.size * HEIGHT * at.scale / 2
    left, right = max(0, round(at.x * WIDTH - half)), min(WIDTH, round(at.x * WIDTH + half))
    top, bottom = max(0, round(at.y * HEIGHT - half)), min(HEIGHT, round(at.y * HEIGHT + half))
    return (left, top, right, bottom) if left < right and top < bottom else None


def boxes(scene: Scene) -> list[list[tuple[int, int, int, int] | None]]:
    """For each event, its item's box in every frame of the clip."""
    return [[_event_box(event, frame) for frame in range(scene.frames)] for event in scene.events]


def _event_box(event: Event, frame: int) -> tuple[int, int, int, int] | None:
    at = pose(event, frame)
    return None if at is None else box(event.item, at)
