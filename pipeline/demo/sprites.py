"""Things as small pictures: a shape's mask, its texture and its light, drawn large and made small for smooth edges."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Pixels = NDArray[np.floating]

SIDE = 216  # pixels of a sprite's square before it is made small
INK = {
    "red": (212, 32, 38),
    "yellow": (244, 206, 28),
    "green": (34, 150, 58),
    "blue": (32, 82, 206),
    "purple": (138, 44, 170),
    "white": (240, 240, 236),
}
_DARK, _PALE = (36, 34, 40), (246, 242, 232)
_SECOND_INK = {"yellow": _DARK, "white": _DARK}  # the others are patterned with the pale one
_CUBE_TOP, _CUBE_SIDE, _CUBE_FRONT = (
    ((0.02, 0.28), (0.30, 0.02), (0.98, 0.02), (0.70, 0.28)),
    ((0.70, 0.28), (0.98, 0.02), (0.98, 0.70), (0.70, 0.98)),
    ((0.02, 0.28), (0.70, 0.28), (0.70, 0.98), (0.02, 0.98)),
)


@lru_cache(maxsize=512)
def sprite(colour: str, shape: str, texture: str) -> Image.Image:
    """The thing, RGBA, filling a square of SIDE pixels."""
    mask, light = _cube() if shape == "cube" else _flat(shape)
    albedo = _textured(colour, texture)
    lit = np.clip(albedo * light[..., None] + 60 * np.clip(light - 1.1, 0, 1)[..., None], 0, 255)
    return Image.fromarray(np.dstack([lit, mask]).astype(np.uint8), "RGBA")


def _grid() -> tuple[Pixels, Pixels]:
    """Coordinates from -1 to 1: rightwards and downwards."""
    line = ((np.arange(SIDE) + 0.5) / SIDE * 2 - 1).astype(np.float32)
    down, right = np.meshgrid(line, line, indexing="ij")
    return right, down


def _textured(colour: str, texture: str) -> Pixels:
    ink, second = (np.array(c, np.float32) for c in (INK[colour], _SECOND_INK.get(colour, _PALE)))
    return np.where(_pattern(texture)[..., None], second, ink)


def _pattern(texture: str) -> NDArray[np.bool_]:
    """Where the second ink goes."""
    right, down = _grid()
    if texture == "striped":
        return np.floor((right + 0.35 * down) * 3.6) % 2 == 0
    if texture == "checkered":
        return (np.floor(right * 3) + np.floor(down * 3)) % 2 == 0
    if texture == "dotted":
        row = np.floor(down * 3)
        across = right * 3 + 0.5 * (row % 2)
        return np.hypot(across % 1 - 0.5, (down * 3) % 1 - 0.5) < 0.33
    return np.zeros((SIDE, SIDE), bool)


def _drawn(points: list[tuple[float, float]]) -> Pixels:
    """A polygon with corners from 0 to 1, as a mask from 0 to 255."""
    mask = Image.new("L", (SIDE, SIDE))
    ImageDraw.Draw(mask).polygon([(x * SIDE, y * SIDE) for x, y in points], fill=255)
    return np.asarray(mask, np.float32)


def _cube() -> tuple[Pixels, Pixels]:
    faces = [
        (_drawn(list(face)), shade) for face, shade in ((_CUBE_TOP, 1.25), (_CUBE_SIDE, 0.55), (_CUBE_FRONT, 0.92))
    ]
    mask = np.maximum.reduce([face for face, _ in faces])
    light = np.ones((SIDE, SIDE), np.float32)
    for face, shade in faces:
        light[face > 0] = shade
    return mask, light


def _flat(shape: str) -> tuple[Pixels, Pixels]:
    right, down = _grid()
    radius = np.hypot(right, down)
    if shape == "ball":
        return _inside(radius, 0.97), 1.18 - 0.62 * np.clip(radius, 0, 1) ** 2.5
    if shape == "ring":
        return _inside(radius, 0.97) - _inside(radius, 0.50), 1.2 - 0.6 * (np.abs(radius - 0.735) / 0.235).clip(
            0, 1
        ) ** 2
    mask = _drawn(_outline(shape))
    return mask, 1.12 - 0.18 * (right + down)  # light falls from the upper left


def _inside(radius: Pixels, limit: float) -> Pixels:
    return np.clip((limit - radius) * SIDE / 2, 0, 1) * 255


def _outline(shape: str) -> list[tuple[float, float]]:
    if shape == "triangle":
        return [(0.5, 0.04), (0.98, 0.94), (0.02, 0.94)]
    if shape == "star":
        turns = [(math.pi * k / 5, 0.5 if k % 2 == 0 else 0.21) for k in range(10)]
        return [(0.5 + r * math.sin(turn), 0.52 - r * math.cos(turn)) for turn, r in turns]
    angles = [2 * math.pi * k / 90 for k in range(90)]  # a heart
    return [(0.5 + 0.48 * math.sin(a) ** 3, 0.46 - _heart_height(a) / 34) for a in angles]


def _heart_height(a: float) -> float:
    return 13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)
