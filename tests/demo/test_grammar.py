"""Captions: enough of them, plain, true to the scene, and different where the scenes differ."""

from __future__ import annotations

import random
import re

from hypothesis import assume, given, settings, strategies as st

from pipeline.demo.grammar import BIG, NOUNS, PATTERNS, PLURALS, SMALL, captions, vocabulary
from pipeline.demo.making import CAPTIONS_A_CLIP, clip_captions
from pipeline.demo.plan import Clip, Twins
from pipeline.demo.scene import COLOURS, SOUNDS, TEXTURES, Scene
from tests.demo.conftest import twins

seeds = st.integers(0, 2**32)
quickly = settings(deadline=None, max_examples=150)
SOUND_WORDS = {
    "bell": {"bell"},
    "beep": {"beeps", "beeping"},
    "hum": {"hums", "humming"},
    "tick": {"ticks", "ticking"},
    "whistle": {"whistle"},
    "drum": {"drum"},
}


def said(scene: Scene, seed: int = 0, count: int = CAPTIONS_A_CLIP) -> list[str]:
    return captions(scene, count=count, rng=random.Random(seed))


def content(scene: Scene) -> tuple[object, ...]:
    """What a caption has to tell: not the place, the backdrop or the distracting frames."""
    events = tuple((e.item.colour, e.item.shape, e.item.texture, e.motion) for e in scene.events)
    bystanders = tuple((item.colour, item.shape) for item in scene.bystanders)
    return events, bystanders, scene.audio if scene.audio in SOUNDS else None


@quickly
@given(twins(), seeds)
def test_every_scene_has_different_plain_captions_of_known_words(pair: Twins, seed: int) -> None:
    texts = said(pair[0], seed)

    assert len(set(texts)) == CAPTIONS_A_CLIP
    for text in texts:
        assert re.fullmatch(r"[a-z]+( [a-z]+)*", text)
        assert set(text.split()) <= vocabulary()


@quickly
@given(twins(), seeds)
def test_twins_have_no_caption_in_common(pair: Twins, seed: int) -> None:
    """Another order of events, another sound, another small thing: another sentence."""
    assert not set(said(pair[0], seed, count=20)) & set(said(pair[1], seed, count=20))


@quickly
@given(twins(), twins(), seeds)
def test_different_content_has_no_caption_in_common(one: Twins, other: Twins, seed: int) -> None:
    assume(content(one[0]) != content(other[0]))

    assert not set(said(one[0], seed)) & set(said(other[0], seed))


@quickly
@given(twins("distracted"), seeds)
def test_the_distraction_is_never_told(pair: Twins, seed: int) -> None:
    scene = pair[0]
    assert scene.card is not None
    distraction = scene.card.item
    for text in said(scene, seed):
        assert not {distraction.colour, *NOUNS[distraction.shape]} & set(text.split())


@quickly
@given(twins(), seeds)
def test_a_caption_tells_every_attribute_and_no_other(pair: Twins, seed: int) -> None:
    scene = pair[0]
    items = [event.item for event in scene.events] + list(scene.bystanders)
    for text in said(scene, seed):
        words = set(text.split())
        assert words & set(COLOURS) == {item.colour for item in items}
        assert told_shapes(text) == {item.shape for item in items}
        assert told_textures(text) == {item.texture for item in items} - {"plain"}
        assert told_sounds(words) == {scene.audio} & set(SOUNDS)
        assert bool(words & set(SMALL)) == bool(words & set(BIG)) == bool(scene.bystanders)


def told_shapes(text: str) -> set[str]:
    words = set(text.replace("bell rings", "").split())  # the one word that is also a verb
    return {shape for shape, nouns in NOUNS.items() if words & {*nouns, *(PLURALS[noun] for noun in nouns)}}


def told_textures(text: str) -> set[str]:
    return {texture for texture in TEXTURES if any(pattern in text for pattern in PATTERNS[texture])}


def told_sounds(words: set[str]) -> set[str]:
    return {sound for sound in SOUNDS if words & SOUND_WORDS[sound]}


def test_every_word_of_test_is_said_in_training_and_the_vocabulary_is_all_used(whole_plan: list[Clip]) -> None:
    words: dict[str, set[str]] = {"train": set(), "validate": set(), "test": set()}
    for clip in whole_plan:
        for text in clip_captions(clip, seed=0):
            words[clip.split].update(text.split())

    assert words["test"] | words["validate"] <= words["train"]
    assert words["train"] == vocabulary()
    assert 100 <= len(vocabulary()) <= 200
