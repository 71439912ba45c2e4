"""Shared memory for pixels: what is lent stays as it is, and memory is kept from one video to the next."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pipeline.decoding.arena import Arena, KeptMapping, Region, slot_views

SMALL, LARGE = (4, 6, 3), (40, 60, 3)
VIDEOS = st.lists(
    st.tuples(st.sampled_from([SMALL, LARGE]), st.integers(1, 4), st.lists(st.integers(0, 3))), max_size=8
)


@pytest.fixture
def arena() -> Iterator[Arena]:
    with closing(Arena()) as arena:
        yield arena


class Child:
    """Its mapping is its own, as in another process."""

    def __init__(self, arena: Arena) -> None:
        self.mapped = KeptMapping(arena.descriptor)

    def write(self, region: Region, shape: tuple[int, int, int], *, slot: int, value: int) -> None:
        memory = self.mapped.at(region.offset, region.slots * region.stride)
        slot_views(memory, slots=region.slots, stride=region.stride, shape=shape)[slot][...] = value


@settings(max_examples=60)
@given(videos=VIDEOS)
def test_a_frame_is_what_was_decoded_for_as_long_as_it_is_held(videos: list) -> None:
    """Videos of two sizes, of each of which some frames are kept until the end."""
    with closing(Arena()) as arena:
        child, kept = Child(arena), list[tuple[np.ndarray, int]]()
        for number, (shape, slots, wanted) in enumerate(videos):
            region = arena.place(slots=slots, slot_bytes=math.prod(shape))
            for slot in range(slots):
                child.write(region, shape, slot=slot, value=10 * number + slot)
                frame = region.take(slot, shape)
                assert (frame == 10 * number + slot).all()
                if slot in wanted:
                    kept.append((frame, 10 * number + slot))
        assert all((frame == value).all() for frame, value in kept)


def pages(arena: Arena) -> int:
    return os.fstat(arena.descriptor).st_blocks


def test_the_next_video_of_the_size_finds_the_memory_it_needs(arena: Arena) -> None:
    child = Child(arena)
    for number in range(3):
        region = arena.place(slots=4, slot_bytes=math.prod(LARGE))
        assert pages(arena) > 0 or number == 0
        assert region.offset == 0
        for slot in range(4):
            child.write(region, LARGE, slot=slot, value=number)
        assert (region.take(0, LARGE) == number).all()


def test_a_smaller_video_gives_back_what_it_does_not_need(arena: Arena) -> None:
    child = Child(arena)
    region = arena.place(slots=4, slot_bytes=math.prod(LARGE))
    for slot in range(4):
        child.write(region, LARGE, slot=slot, value=1)
    before = pages(arena)
    arena.place(slots=4, slot_bytes=math.prod(SMALL))
    assert pages(arena) < before


def test_a_slot_is_given_back_with_the_last_view_of_its_frame(arena: Arena) -> None:
    region = arena.place(slots=4, slot_bytes=math.prod(SMALL))
    frame = region.take(2, SMALL)
    view = frame[1:, ::2].transpose(2, 0, 1)[:1]
    del frame
    assert not region.returned
    del view
    assert list(region.returned) == [2]


def test_half_of_the_slots_are_lent_and_the_others_copied(arena: Arena) -> None:
    child = Child(arena)
    region = arena.place(slots=4, slot_bytes=math.prod(SMALL))
    kept = [region.take(slot, SMALL) for slot in range(4)]
    assert sorted(region.lent) == [0, 1]
    assert sorted(region.returned) == [2, 3]
    for slot in (2, 3):
        child.write(region, SMALL, slot=slot, value=9)
    assert not any((frame == 9).any() for frame in kept)


def test_memory_of_earlier_videos_is_used_again_once_nothing_of_them_is_held(arena: Arena) -> None:
    first = arena.place(slots=4, slot_bytes=math.prod(SMALL))
    frame = first.take(0, SMALL)
    second = arena.place(slots=4, slot_bytes=math.prod(SMALL))
    assert second.offset == first.slots * first.stride
    del frame
    assert arena.place(slots=4, slot_bytes=math.prod(SMALL)).offset == 0
    assert arena.clear() == 0
