"""Frames: what a scene says is what the pixels show."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from pipeline.demo import drawing
from pipeline.demo.drawing import frames
from pipeline.demo.motion import boxes
from pipeline.demo.plan import Twins
from pipeline.demo.scene import BACKDROPS, COLOURS, HEIGHT, SHAPES, TEXTURES, WIDTH, Event, Scene, SceneItem
from pipeline.demo.sprites import INK, SIDE, sprite
from tests.demo.conftest import twins

few = settings(max_examples=6, deadline=None)


@pytest.fixture(autouse=True, scope="module")
def still_camera() -> None:
    """Without camera noise, so that equal moments are equal pixels."""
    patch = pytest.MonkeyPatch()
    patch.setattr(drawing, "GRAIN", 0.0)
    yield
    patch.undo()


def drawn(scene: Scene) -> list[bytes]:
    return [frame.tobytes() for frame in frames(scene)]


@few
@given(twins("order"))
def test_order_twins_have_the_same_frames(pair: Twins) -> None:
    """So that the order cannot be told from the set of frames."""
    one, other = drawn(pair[0]), drawn(pair[1])

    assert one != other
    assert sorted(one) == sorted(other)


@few
@given(twins("sound"))
def test_sound_twins_look_the_same(pair: Twins) -> None:
    assert drawn(pair[0]) == drawn(pair[1])


@few
@given(twins("distracted"))
def test_distracting_frames_are_at_both_ends_and_half_of_the_clip(pair: Twins) -> None:
    pictures, card = drawn(pair[0]), pair[0].card

    assert card is not None
    ends = pictures[: card.first] + pictures[card.end :]
    assert len(set(ends)) == 1
    assert len(ends) == len(pictures) / 2
    assert ends[0] not in pictures[card.first : card.end]


@few
@given(twins("small"))
def test_the_small_thing_is_alone_in_its_box(pair: Twins) -> None:
    """Twins differ by the small thing, so their pixels may differ in its box (and a margin for smooth edges) only."""
    for one, other, box in zip(frames(pair[0]), frames(pair[1]), boxes(pair[0])[0], strict=True):
        assert box is not None
        left, top, right, bottom = box
        changed = np.argwhere((one != other).any(axis=2))
        assert changed.min(axis=0) == pytest.approx((top, left), abs=(bottom - top))
        assert (changed.max(axis=0) <= (bottom, right)).all()
        assert (bottom - top) * (right - left) < 0.03 * WIDTH * HEIGHT


@pytest.mark.parametrize("backdrop", BACKDROPS)
@pytest.mark.parametrize("colour", COLOURS)
def test_a_thing_has_its_colour_in_front_of_any_backdrop(colour: str, backdrop: str) -> None:
    event = Event(SceneItem(colour, "ball", 0.45), "right", 0, 9)
    picture = list(frames(Scene("order", 9, backdrop, look=5, events=(event,))))[4]
    middle = picture[HEIGHT // 2, WIDTH // 2].astype(float)
    direction = {name: np.array(ink) / np.linalg.norm(ink) for name, ink in INK.items()}

    assert max(direction, key=lambda name: direction[name] @ middle / np.linalg.norm(middle)) == colour


@pytest.mark.parametrize("shape", SHAPES)
def test_textures_of_a_shape_look_different_but_keep_its_outline(shape: str) -> None:
    pictures = [np.asarray(sprite("blue", shape, texture)) for texture in ("plain", *TEXTURES)]

    assert all((picture[..., 3] == pictures[0][..., 3]).all() for picture in pictures)
    for i, one in enumerate(pictures):
        for other in pictures[:i]:
            assert np.abs(one[..., :3].astype(int) - other[..., :3]).mean() > 10


def test_shapes_have_different_outlines() -> None:
    masks = [np.asarray(sprite("blue", shape, "plain"))[..., 3] > 127 for shape in SHAPES]
    for i, one in enumerate(masks):
        for other in masks[:i]:
            assert (one != other).mean() > 0.08
    assert masks[0].shape == (SIDE, SIDE)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in ("ball", "ring")])
def test_a_turning_thing_keeps_its_area(shape: str) -> None:
    """No corner is cut off on the way round."""
    event = Event(SceneItem("blue", shape, 0.45), "spin", 0, 12)
    scene = Scene("texture", 12, "studio", look=1, events=(event,))
    empty = next(frames(replace(scene, events=()))).astype(int)
    areas = [(np.abs(picture - empty).max(axis=2) > 40).sum() for picture in frames(scene)]

    assert min(areas) > 0.95 * max(areas)


def test_camera_noise_makes_equal_scenes_different_but_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "GRAIN", 2.0)
    event = Event(SceneItem("red", "star", 0.45), "spin", 0, 2)
    one, other = (next(frames(Scene("order", 2, "hills", 1, (event,), grain=grain))) for grain in (1, 2))

    difference = np.abs(one.astype(int) - other)
    assert 0 < difference.mean() < 5


@few
@given(twins())
def test_frames_have_the_stated_size_and_number(pair: Twins) -> None:
    pictures = list(frames(pair[0]))

    assert len(pictures) == pair[0].frames
    assert {(picture.shape, picture.dtype.name) for picture in pictures} == {((HEIGHT, WIDTH, 3), "uint8")}
    assert random.Random(0).choice(pictures).std() > 5
