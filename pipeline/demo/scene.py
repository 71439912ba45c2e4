"""What a clip shows, as pure data: its frames, sound and captions all follow from its `Scene`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

WIDTH, HEIGHT, FPS = 256, 192, 15

SLICES = ("order", "small", "sound", "distracted", "texture")
COLOURS = ("red", "yellow", "green", "blue", "purple", "white")
SHAPES = ("ball", "cube", "star", "ring", "heart", "triangle")
TEXTURES = ("striped", "dotted", "checkered")
OPPOSITE = {"right": "left", "left": "right", "up": "down", "down": "up", "closer": "away", "away": "closer"}
DIRECTIONS = tuple(OPPOSITE)
CROSSINGS = ("right", "left", "up", "down")
MOTIONS = (*DIRECTIONS, "spin", "bounce")
SMALL_MOTIONS = ("rest", "pass", "hop")
SOUNDS = ("bell", "beep", "hum", "tick", "whistle", "drum")
QUIET = ("room", "silence", "none")  # nothing to hear: faint room noise, digital silence, no audio track at all
BACKDROPS = ("studio", "clouds", "hills", "bricks", "planks", "skyline")
CARDS = ("title", "poster", "photo")


@dataclass(frozen=True)
class SceneItem:
    """A thing; `size` is its height as a fraction of the picture's."""

    colour: str
    shape: str
    size: float
    texture: str = "plain"


@dataclass(frozen=True)
class Event:
    """An item moving from frame `first` up to, not including, frame `end`.

    `lane` places the motion across its direction, from 0 to 1; an item going `through` enters and leaves the picture.
    """

    item: SceneItem
    motion: str
    first: int
    end: int
    lane: float = 0.5
    through: bool = False


@dataclass(frozen=True)
class DistractorCard:
    """Distracting frames before frame `first` and from frame `end` on: another picture with another item."""

    kind: str
    item: SceneItem
    first: int
    end: int


@dataclass(frozen=True)
class Scene:
    """One clip. `bystanders` stand still behind the events; `look` seeds the backdrop, `grain` the camera noise."""

    slice: str
    frames: int
    backdrop: str
    look: int
    events: tuple[Event, ...]
    bystanders: tuple[SceneItem, ...] = ()
    card: DistractorCard | None = None
    audio: str = "none"
    grain: int = 0

    @property
    def seconds(self) -> float:
        return self.frames / FPS

    def record(self) -> dict[str, Any]:
        return asdict(self)


def swapped(scene: Scene) -> Scene:
    """The same two events in the other order."""
    first, second = scene.events
    early = replace(second, first=first.first, end=first.end)
    late = replace(first, first=second.first, end=second.end)
    return replace(scene, events=(early, late))


def reversed_motion(scene: Scene) -> Scene:
    """The same picture running backwards."""
    (event,) = scene.events
    return replace(scene, events=(replace(event, motion=OPPOSITE[event.motion]),))


def exchanged_card(scene: Scene) -> Scene:
    """The item of the distracting frames becomes the subject, and the other way round."""
    (event,) = scene.events
    if scene.card is None:
        raise ValueError("only a scene with a card can exchange it")
    subject, distractor = event.item, scene.card.item
    return replace(
        scene,
        events=(replace(event, item=replace(distractor, size=subject.size)),),
        card=replace(scene.card, item=replace(subject, size=distractor.size)),
    )


def combinations(scene: Scene) -> frozenset[tuple[str, str]]:
    """Pairs of attributes that occur together anywhere in the clip: what a split may hold out."""
    distraction = [] if scene.card is None else [(scene.card.item.colour, scene.card.item.shape)]
    return told_combinations(scene).union(distraction)


def told_combinations(scene: Scene) -> frozenset[tuple[str, str]]:
    """Those of what the captions tell of, which leaves out the distracting frames."""
    items = [event.item for event in scene.events] + list(scene.bystanders)
    pairs = {(item.colour, item.shape) for item in items}
    for event in scene.events:
        pairs |= {(event.item.shape, about) for about in (event.motion, event.item.texture, scene.audio)}
    return frozenset(pairs)
