"""Frames of a scene: backdrop, things in their poses, and a little camera noise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pipeline.demo import backdrops
from pipeline.demo.motion import Pose, bystander_poses, pose
from pipeline.demo.scene import HEIGHT, WIDTH, DistractorCard, Scene, SceneItem
from pipeline.demo.sprites import SIDE, sprite

Frame = NDArray[np.uint8]  # (HEIGHT, WIDTH, 3)
GRAIN = 2.0  # standard deviation of the camera noise, of 255
_SLACK = 48  # the noise of a frame is a window somewhere in a slightly larger sheet
_CARD_POSE = Pose(0.5, 0.57)


def frames(scene: Scene) -> Iterator[Frame]:
    background, card = _background(scene), _card_picture(scene.card, look=scene.look)
    rng = np.random.default_rng(scene.grain)
    sheet = (rng.standard_normal((HEIGHT + _SLACK, WIDTH + _SLACK, 1)) * GRAIN).round().astype(np.int16).repeat(3, 2)
    for number in range(scene.frames):
        y, x = rng.integers(_SLACK, size=2)
        picture = (
            card if card is not None and _is_distracting(scene.card, number) else _moment(scene, background, number)
        )
        noisy = np.asarray(picture) + sheet[y : y + HEIGHT, x : x + WIDTH]
        yield np.clip(noisy, 0, 255, out=noisy).astype(np.uint8)


def _is_distracting(card: DistractorCard | None, number: int) -> bool:
    return card is not None and not card.first <= number < card.end


def _background(scene: Scene) -> Image.Image:
    picture = Image.fromarray(backdrops.backdrop(scene.backdrop, look=scene.look).astype(np.uint8))
    for item, at in bystander_poses(scene):
        _put(picture, item, at)
    return picture


def _card_picture(card: DistractorCard | None, *, look: int) -> Image.Image | None:
    if card is None:
        return None
    picture = Image.fromarray(backdrops.card(card.kind, look=look).astype(np.uint8))
    _put(picture, card.item, _CARD_POSE)
    return picture


def _moment(scene: Scene, background: Image.Image, number: int) -> Image.Image:
    picture = background.copy()
    for event in scene.events:
        at = pose(event, number)
        if at is not None:
            _put(picture, event.item, at)
    return picture


def _put(picture: Image.Image, item: SceneItem, at: Pose) -> None:
    side = max(2, round(item.size * HEIGHT * at.scale))
    thing = _fitted(item.colour, item.shape, item.texture, side, round(at.angle))
    corner = (round(at.x * WIDTH - thing.width / 2), round(at.y * HEIGHT - thing.height / 2))
    picture.paste(thing, corner, thing)


@lru_cache(maxsize=64)  # most things only change their place from frame to frame
def _fitted(colour: str, shape: str, texture: str, side: int, angle: int) -> Image.Image:
    """The thing with an unturned side of `side` pixels; turned, it takes up more room, and no corner is cut off."""
    thing = sprite(colour, shape, texture)
    if angle:
        thing = thing.rotate(angle, Image.Resampling.BILINEAR, expand=True)
    room = round(side * thing.width / SIDE)
    return thing.resize((room, room), Image.Resampling.HAMMING)
