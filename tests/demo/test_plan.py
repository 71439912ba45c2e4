"""Splits, slices, twins and held-out combinations of the planned set."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from pipeline.demo.plan import HELD_OUT, SMALLEST_SET, SPLITS, UNSEEABLE, Clip, plan
from pipeline.demo.scene import OPPOSITE, SLICES, Scene, combinations, exchanged_card

ALL_HELD_OUT = {pair for pairs in HELD_OUT.values() for pair in pairs}


def shown_in(clips: list[Clip], *splits: str) -> set[tuple[str, str]]:
    return {pair for clip in clips if clip.split in splits for pair in combinations(clip.scene)}


def twin_pairs(clips: list[Clip], slice_name: str) -> list[tuple[Scene, Scene]]:
    """Both scenes of each pair, without the camera noise."""
    scenes = {clip.video_id: replace(clip.scene, grain=0) for clip in clips}
    return [
        (scenes[clip.video_id], scenes[clip.twin])
        for clip in clips
        if clip.scene.slice == slice_name and clip.twin is not None
    ]


def test_each_slice_has_the_same_share_of_each_split(whole_plan: list[Clip]) -> None:
    counted = Counter((clip.split, clip.scene.slice) for clip in whole_plan)

    assert {(split, name): size // len(SLICES) for split, size in SPLITS.items() for name in SLICES} == counted


def test_held_out_combinations_are_shown_in_test_only(whole_plan: list[Clip]) -> None:
    """Not even on a distracting card; and every one of them is told of in test."""
    told = {tuple(pair) for clip in whole_plan if clip.split == "test" for pair in clip.held_out}

    assert not shown_in(whole_plan, "train", "validate") & ALL_HELD_OUT
    assert told == ALL_HELD_OUT


def test_each_part_of_a_held_out_combination_is_seen_in_training(whole_plan: list[Clip]) -> None:
    seen = {word for pair in shown_in(whole_plan, "train") for word in pair}

    assert {word for pair in ALL_HELD_OUT for word in pair} <= seen


def test_nothing_is_shown_that_nobody_could_see(whole_plan: list[Clip]) -> None:
    """A plain ball that spins looks like one that does not."""
    assert not shown_in(whole_plan, *SPLITS) & UNSEEABLE


def test_twins_are_in_the_same_split_and_slice_and_name_each_other(whole_plan: list[Clip]) -> None:
    clips = {clip.video_id: clip for clip in whole_plan}
    for clip in whole_plan:
        assert clip.twin is not None
        twin = clips[clip.twin]
        assert (twin.twin, twin.split, twin.scene.slice) == (clip.video_id, clip.split, clip.scene.slice)
        assert twin.scene.grain != clip.scene.grain


def test_order_twins_show_the_same_things_in_the_other_order(whole_plan: list[Clip]) -> None:
    for one, other in twin_pairs(whole_plan, "order"):
        assert replace(one, events=()) == replace(other, events=())
        if len(one.events) == 2:
            assert [event.item for event in one.events] == [event.item for event in reversed(other.events)]
        else:
            assert OPPOSITE[one.events[0].motion] == other.events[0].motion


def test_sound_twins_differ_in_the_sound_alone(whole_plan: list[Clip]) -> None:
    for one, other in twin_pairs(whole_plan, "sound"):
        assert one.audio != other.audio
        assert replace(one, audio="") == replace(other, audio="")


@pytest.mark.parametrize("slice_name", ["small", "texture"])
def test_small_and_texture_twins_differ_in_the_item_alone(whole_plan: list[Clip], slice_name: str) -> None:
    for one, other in twin_pairs(whole_plan, slice_name):
        assert one.events[0].item != other.events[0].item
        assert replace(one, events=(replace(one.events[0], item=other.events[0].item),)) == other


def test_distracted_twins_exchange_subject_and_distraction(whole_plan: list[Clip]) -> None:
    for one, other in twin_pairs(whole_plan, "distracted"):
        assert exchanged_card(one) == other


def test_the_motions_of_one_axis_are_equally_frequent(whole_plan: list[Clip]) -> None:
    """So that in the order slice no direction is the better guess."""
    for split in SPLITS:
        counted = Counter(
            clip.scene.events[0].motion
            for clip in whole_plan
            if clip.split == split and clip.scene.slice == "order" and len(clip.scene.events) == 1
        )
        assert counted == Counter({OPPOSITE[motion]: count for motion, count in counted.items()})


def test_the_seed_decides_the_plan() -> None:
    assert plan(seed=1, clips=30) == plan(seed=1, clips=30)
    assert plan(seed=1, clips=30) != plan(seed=2, clips=30)


@settings(max_examples=10, deadline=None)
@given(st.integers(SMALLEST_SET, 90))
def test_a_small_set_has_the_asked_size_and_nearly_equal_slices(clips: int) -> None:
    planned = plan(seed=0, clips=clips)

    assert [clip.video_id for clip in planned] == [f"video{i}" for i in range(clips)]
    assert {clip.split for clip in planned} == set(SPLITS)
    assert not shown_in(planned, "train", "validate") & ALL_HELD_OUT
    for split in SPLITS:
        counted = Counter(clip.scene.slice for clip in planned if clip.split == split)
        shares = [counted[name] for name in SLICES]
        assert max(shares) - min(shares) <= 1
