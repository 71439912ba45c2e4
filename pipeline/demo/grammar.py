"""Captions: a small grammar of plain English that says all a scene shows and nothing else.

Every choice lists its most usual wording first; that one is taken half of the time, so that
references agree on the attributes (which n-gram scores then reward) and still vary as people do.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from pipeline.demo.scene import COLOURS, SOUNDS, Event, Scene, SceneItem

T = TypeVar("T")

NOUNS = {
    "ball": ("ball", "sphere"),
    "cube": ("cube", "box", "block"),
    "star": ("star",),
    "ring": ("ring", "hoop"),
    "heart": ("heart",),
    "triangle": ("triangle",),
}
PLURALS = {word: f"{word}es" if word.endswith("x") else f"{word}s" for words in NOUNS.values() for word in words}
SMALL, BIG = ("small", "tiny", "little"), ("big", "large", "huge")
PATTERNS = {  # before the colour, or after the noun
    "striped": ("striped", "with stripes"),
    "dotted": ("dotted", "with dots"),
    "checkered": ("checkered", "with a checkered pattern"),
}

# A verb is (he goes, going); a phrase is what follows it.
_GLIDE = (("moves", "moving"), ("travels", "traveling"), ("goes", "going"))
_VERBS = {
    "right": (("slides", "sliding"), *_GLIDE),
    "left": (("slides", "sliding"), *_GLIDE),
    "up": (("rises", "rising"), ("floats", "floating"), ("goes", "going")),
    "down": (("falls", "falling"), ("drops", "dropping"), ("comes", "coming")),
    "closer": (("comes", "coming"), ("gets", "getting"), ("moves", "moving")),
    "away": (("moves", "moving"), ("goes", "going"), ("drifts", "drifting")),
    "spin": (("spins", "spinning"), ("turns", "turning"), ("rotates", "rotating")),
    "bounce": (("bounces", "bouncing"), ("jumps", "jumping")),
    "rest": (("sits", "sitting"), ("lies", "lying"), ("stays", "staying")),
    "pass": (("moves", "moving"), ("slides", "sliding"), ("goes", "going")),
    "hop": (("bounces", "bouncing"), ("jumps", "jumping")),
}
_ROLL = ("rolls", "rolling")
_ROLLERS = ("ball", "ring")
_PHRASES = {
    "right": ("from left to right", "to the right", "towards the right side"),
    "left": ("from right to left", "to the left", "towards the left side"),
    "up": ("up", "upwards", "from the bottom to the top"),
    "down": ("down", "downwards", "from the top to the bottom"),
    "closer": ("closer", "closer and closer", "closer to the camera"),
    "away": ("away", "further away", "away from the camera"),
    "spin": ("around", "in place", "on the spot"),
    "bounce": ("up and down", "up and down again and again"),
    "rest": ("between", "in between"),
    "pass": ("past", "in front of"),
    "hop": ("between", "in between"),
}
_SOUNDS = {  # who sounds, it sounds, sounding
    "bell": (("a bell", "rings", "ringing"), ("a bell", "chimes", "chiming")),
    "beep": (("an alarm", "beeps", "beeping"), ("a machine", "beeps", "beeping")),
    "hum": (("a motor", "hums", "humming"), ("an engine", "hums", "humming")),
    "tick": (("a clock", "ticks", "ticking"), ("something", "ticks", "ticking")),
    "whistle": (("a whistle", "gets higher", "getting higher"), ("a whistle", "rises", "rising")),
    "drum": (("a drum", "beats", "beating"), ("a drum", "plays", "playing")),
}
_CLAUSES = ("{0}", "{1}", "{2}", "the video shows {2}", "there is {2}")  # finite, is -ing, bare -ing
_THEN = (
    "{a0} and then {b0}",
    "first {a0} and then {b0}",
    "{a0} before {b0}",
    "{a1} and then {b1}",
    "{a2} followed by {b2}",
)
_WHILE = ("{0} while {s0}", "{0} as {s0}", "{1} while {s1}", "{2} with {s2}", "{s0} while {0}", "{s1} as {0}")
_BETWEEN = "{big} with {small} {between} them"


def captions(scene: Scene, *, count: int, rng: random.Random) -> list[str]:
    """`count` different sentences that all say what the scene shows."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[_sentence(scene, rng)] = None
    return list(found)


def vocabulary() -> frozenset[str]:
    """Every word the grammar can say."""
    texts: list[str] = [*COLOURS, *SMALL, *BIG, *PLURALS, *PLURALS.values(), *_CLAUSES, *_THEN, *_WHILE, _BETWEEN]
    texts += [text for texts_ in (*PATTERNS.values(), *_PHRASES.values()) for text in texts_]
    texts += [text for pairs in (*_VERBS.values(), *_SOUNDS.values(), (_ROLL,)) for pair in pairs for text in pair]
    words = {word for text in texts for word in text.split() if "{" not in word}
    return frozenset(words | {"a", "the", "two", "is"})


def _pick(rng: random.Random, options: Sequence[T]) -> T:
    """The first option half of the time."""
    return options[0] if len(options) == 1 or rng.random() < 0.5 else rng.choice(options[1:])


def _sentence(scene: Scene, rng: random.Random) -> str:
    if scene.bystanders:
        return _among_large(scene, rng)
    if len(scene.events) == 2:
        return _one_after_the_other(scene, rng)
    if scene.audio in SOUNDS:
        return _with_sound(scene, rng)
    return _clause(scene.events[0], rng)


def _clause(event: Event, rng: random.Random, *, tail: str = "", size: str = "") -> str:
    clause = _pick(rng, _CLAUSES)
    article = "a" if clause.startswith("there") else ""  # nobody writes "there is the ball"
    return clause.format(*_forms(event, rng, tail=tail, article=article, size=size))


def _forms(event: Event, rng: random.Random, *, tail: str = "", article: str = "", size: str = "") -> list[str]:
    """The event as "a ball rolls up", "a ball is rolling up" and "a ball rolling up"."""
    subject = _noun_phrase(event.item, rng, article=article, size=size)
    rolls = event.item.shape in _ROLLERS and event.motion in ("left", "right", "pass")
    goes, going = _pick(rng, ((_ROLL, *_VERBS[event.motion]) if rolls else _VERBS[event.motion]))
    phrase = f"{_pick(rng, _PHRASES[event.motion])} {tail}".strip()
    return [f"{subject} {goes} {phrase}", f"{subject} is {going} {phrase}", f"{subject} {going} {phrase}"]


def _noun_phrase(
    item: SceneItem, rng: random.Random, *, article: str = "", size: str = "", plural: bool = False
) -> str:
    noun = _pick(rng, NOUNS[item.shape])
    words = [article or _pick(rng, ("a", "a", "the")), size, item.colour, PLURALS[noun] if plural else noun]
    if item.texture != "plain":
        pattern = _pick(rng, PATTERNS[item.texture])
        words.insert(len(words) if pattern.startswith("with") else 2, pattern)
    return " ".join(word for word in words if word)


def _one_after_the_other(scene: Scene, rng: random.Random) -> str:
    first, second = (_forms(event, rng, article="a") for event in scene.events)
    named = {f"a{i}": text for i, text in enumerate(first)} | {f"b{i}": text for i, text in enumerate(second)}
    return _pick(rng, _THEN).format(**named)


def _with_sound(scene: Scene, rng: random.Random) -> str:
    who, sounds, sounding = _pick(rng, _SOUNDS[scene.audio])
    heard = {"s0": f"{who} {sounds}", "s1": f"{who} is {sounding}", "s2": f"{who} {sounding}"}
    return _pick(rng, _WHILE).format(*_forms(scene.events[0], rng), **heard)


def _among_large(scene: Scene, rng: random.Random) -> str:
    (event,) = scene.events
    big = _noun_phrase(scene.bystanders[0], rng, article="two", size=_pick(rng, BIG), plural=True)
    if event.motion == "rest" and rng.random() < 0.2:
        small = _noun_phrase(event.item, rng, article="a", size=_pick(rng, SMALL))
        return _BETWEEN.format(big=big, small=small, between=_pick(rng, _PHRASES["rest"]))
    return _clause(event, rng, tail=big, size=_pick(rng, SMALL))
