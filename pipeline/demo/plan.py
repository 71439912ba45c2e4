"""Which clips go into which split: twins that differ in one thing, fair shares, and combinations held out for test.

Clips come as twins: the same picture and sound except for what their slice is about (the order of the
events, the small thing, the sound, which thing is only a distraction, the texture). Who cannot perceive that
one thing cannot tell the twins apart, so nothing else in the set gives the answer away.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pipeline.demo import scene as vocabulary
from pipeline.demo.scene import SLICES, DistractorCard, Event, Scene, SceneItem, combinations, told_combinations

SPLITS = {"train": 600, "validate": 80, "test": 160}  # clips of the whole set
WHOLE_SET = sum(SPLITS.values())
SMALLEST_SET = 10
HELD_OUT: dict[str, tuple[tuple[str, str], ...]] = {
    "colour and shape": (
        ("red", "star"),
        ("yellow", "heart"),
        ("green", "ball"),
        ("blue", "ring"),
        ("purple", "triangle"),
        ("white", "cube"),
    ),
    "shape and motion": (("ball", "up"), ("star", "left"), ("heart", "bounce"), ("cube", "away")),
    "shape and texture": (("ring", "dotted"), ("cube", "striped"), ("ball", "checkered")),
    "shape and sound": (("triangle", "bell"), ("heart", "drum"), ("ring", "whistle")),
}
UNSEEABLE = {("ball", "spin"), ("ring", "spin")}  # round things that turn on the spot look the same
_HELD_OUT_PAIRS = {pair for pairs in HELD_OUT.values() for pair in pairs}
_CANDIDATES = 30  # the fairest of this many random twins is taken

Twins = tuple[Scene, Scene]


@dataclass(frozen=True)
class Clip:
    video_id: str
    split: str
    scene: Scene
    twin: str | None

    @property
    def held_out(self) -> list[tuple[str, str]]:
        """The held-out combinations that the captions tell of."""
        return sorted(told_combinations(self.scene) & _HELD_OUT_PAIRS)


def plan(*, seed: int, clips: int = WHOLE_SET) -> list[Clip]:
    """Every clip of the set; the same seed and number give the same plan."""
    planned: list[Clip] = []
    for split, size in split_sizes(clips).items():
        rng = random.Random(f"{seed}/{split}")
        for twins in _twins_of_split(split, size=size, rng=rng):
            planned += _numbered(twins, split=split, first=len(planned))
    return planned


def split_sizes(clips: int) -> dict[str, int]:
    """The whole set's proportions, with at least one clip each."""
    sizes = {split: max(1, round(clips * share / WHOLE_SET)) for split, share in SPLITS.items()}
    return sizes | {"train": clips - sizes["validate"] - sizes["test"]}


def _numbered(twins: list[Scene], *, split: str, first: int) -> list[Clip]:
    names = [f"video{first + offset}" for offset in range(len(twins))]
    others = [*names[1:], names[0]] if len(names) == 2 else [None]
    return [Clip(name, split, scene, other) for name, scene, other in zip(names, twins, others, strict=True)]


def _twins_of_split(split: str, *, size: int, rng: random.Random) -> Iterator[list[Scene]]:
    """Equal shares of each slice; where a share is odd, its last clip has no twin."""
    left = {name: size // len(SLICES) + (k < size % len(SLICES)) for k, name in enumerate(SLICES)}
    used: Counter[tuple[str, str]] = Counter()
    number = 0
    while any(left.values()):
        for name in (name for name in SLICES if left[name]):
            twins = _next_twins(name, number=number, split=split, used=used, rng=rng)[: left[name]]
            left[name] -= len(twins)
            yield [replace(scene, grain=rng.getrandbits(32)) for scene in twins]
        number += 1


def _next_twins(name: str, *, number: int, split: str, used: Counter[tuple[str, str]], rng: random.Random) -> Twins:
    """In test, every other pair of twins has a held-out combination; elsewhere none has."""
    builders = BUILDERS[name]
    build = builders[number % len(builders)]
    held_out = split == "test" and number // len(builders) % 2 == 0
    candidates: list[Twins] = []
    while len(candidates) < _CANDIDATES:
        twins = build(rng)
        if _fits(twins, held_out=held_out):
            candidates.append(twins)
    chosen = min(candidates, key=lambda twins: (_rarest(twins, used), sum(used[part] ** 2 for part in _parts(twins))))
    used.update(_parts(chosen))
    return chosen


def _rarest(twins: Twins, used: Counter[tuple[str, str]]) -> int:
    """How often the least used of its held-out combinations came up, so that each of them gets its turn."""
    return min((used[pair] for pair in told_combinations(twins[0]) & _HELD_OUT_PAIRS), default=0)


def _fits(twins: Twins, *, held_out: bool) -> bool:
    shown = combinations(twins[0]) | combinations(twins[1])
    if shown & UNSEEABLE:
        return False
    if held_out:
        return bool(told_combinations(twins[0]) & _HELD_OUT_PAIRS)
    return not shown & _HELD_OUT_PAIRS


def _parts(twins: Twins) -> list[tuple[str, str]]:
    """What should come up equally often: words in each slice of a split, held-out combinations in all of it."""
    parts: list[tuple[str, str]] = []
    for scene in twins:
        about = [scene.audio, scene.backdrop]
        for event in scene.events:
            about += [event.item.colour, event.item.shape, event.motion, event.item.texture]
        parts += [(scene.slice, word) for word in about]
        parts += told_combinations(scene) & _HELD_OUT_PAIRS
    return parts


def _item(rng: random.Random, *unlike: SceneItem, size: tuple[float, float], texture: str = "plain") -> SceneItem:
    """Any item; `unlike` the others in both colour and shape."""
    colours = [colour for colour in vocabulary.COLOURS if colour not in {item.colour for item in unlike}]
    shapes = [shape for shape in vocabulary.SHAPES if shape not in {item.shape for item in unlike}]
    return SceneItem(rng.choice(colours), rng.choice(shapes), round(rng.uniform(*size), 3), texture)


_LARGE, _TINY, _TEXTURED = (0.42, 0.5), (0.13, 0.16), (0.48, 0.54)


def _setting(rng: random.Random) -> tuple[str, int]:
    return rng.choice(vocabulary.BACKDROPS), rng.getrandbits(32)


def _alone(rng: random.Random, *, name: str, audio: str, item: SceneItem, motions: tuple[str, ...]) -> Scene:
    """One item, one motion, the whole clip long."""
    length = rng.randint(40, 50)
    event = Event(item, rng.choice(motions), 0, length, lane=round(rng.random(), 3))
    return Scene(name, length, *_setting(rng), events=(event,), audio=audio)


def _direction(rng: random.Random) -> Twins:
    item = _item(rng, size=_LARGE)
    scene = _alone(rng, name="order", audio=rng.choice(vocabulary.QUIET), item=item, motions=vocabulary.DIRECTIONS)
    return scene, vocabulary.reversed_motion(scene)


def _two_events(rng: random.Random) -> Twins:
    first = _item(rng, size=_LARGE)
    items = (first, _item(rng, first, size=_LARGE))
    half = rng.randint(23, 26)
    events = tuple(
        Event(item, rng.choice(vocabulary.CROSSINGS), k * half, (k + 1) * half, round(rng.random(), 3), through=True)
        for k, item in enumerate(items)
    )
    scene = Scene("order", 2 * half, *_setting(rng), events=events, audio=rng.choice(vocabulary.QUIET))
    return scene, vocabulary.swapped(scene)


def _small_thing(rng: random.Random) -> Twins:
    big = _item(rng, size=_LARGE)
    one = _item(rng, big, size=_TINY)
    other = _item(rng, big, one, size=_TINY)
    quiet = rng.choice(vocabulary.QUIET)
    scene = _alone(rng, name="small", audio=quiet, item=one, motions=vocabulary.SMALL_MOTIONS)
    scene = replace(scene, bystanders=(big, big))
    return scene, _with_item(scene, replace(other, size=one.size))


def _with_item(scene: Scene, item: SceneItem) -> Scene:
    return replace(scene, events=(replace(scene.events[0], item=item),))


def _heard(rng: random.Random) -> Twins:
    one, other = rng.sample(vocabulary.SOUNDS, 2)
    scene = _alone(rng, name="sound", audio=one, item=_item(rng, size=_LARGE), motions=vocabulary.MOTIONS)
    return scene, replace(scene, audio=other)


def _distracted(rng: random.Random) -> Twins:
    item, quarter = _item(rng, size=_LARGE), rng.randint(11, 12)
    event = Event(item, rng.choice(vocabulary.MOTIONS), quarter, 3 * quarter, lane=round(rng.random(), 3))
    card = DistractorCard(rng.choice(vocabulary.CARDS), _item(rng, item, size=_LARGE), quarter, 3 * quarter)
    quiet = rng.choice(vocabulary.QUIET)
    scene = Scene("distracted", 4 * quarter, *_setting(rng), events=(event,), card=card, audio=quiet)
    return scene, vocabulary.exchanged_card(scene)


def _textured(rng: random.Random) -> Twins:
    one, other = rng.sample(vocabulary.TEXTURES, 2)
    item = _item(rng, size=_TEXTURED, texture=one)
    scene = _alone(rng, name="texture", audio=rng.choice(vocabulary.QUIET), item=item, motions=vocabulary.MOTIONS)
    return scene, _with_item(scene, replace(item, texture=other))


BUILDERS: dict[str, tuple[Callable[[random.Random], Twins], ...]] = {
    "order": (_direction, _two_events),
    "small": (_small_thing,),
    "sound": (_heard,),
    "distracted": (_distracted,),
    "texture": (_textured,),
}
