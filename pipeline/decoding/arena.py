"""Shared memory for pixels: the child writes a frame into a slot, the parent lends that slot out without a copy.

Memory and its mappings are kept from one video to the next of the same size: pages that are new to a process cost small
frames as much as a quarter of their decoding.
"""

from __future__ import annotations

import math
import mmap
import os
import weakref
from collections import deque
from functools import partial

import numpy as np

from pipeline.core import anonymous_memory

SLOTS_BYTES = 8 << 20
FEWEST_SLOTS, MOST_SLOTS = 4, 32


def slots_for(frame_bytes: int) -> int:
    return int(np.clip(SLOTS_BYTES // frame_bytes, FEWEST_SLOTS, MOST_SLOTS))


class Arena:
    """The parent's side. A lent frame is the caller's until it is garbage; its slot is not written to before that."""

    def __init__(self) -> None:
        self.descriptor = anonymous_memory()
        self._size = 0
        self._regions: list[Region] = []  # those of earlier requests of which something is still lent, and the last one
        self._mapped = KeptMapping(self.descriptor)

    def place(self, *, slots: int, slot_bytes: int) -> Region:
        """Room for a request, behind whatever earlier requests have lent out and not got back."""
        stride = -(-slot_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        offset = self._free_from()
        self._size = offset + slots * stride
        os.ftruncate(self.descriptor, self._size)
        region = Region(self._mapped.at(offset, slots * stride), offset=offset, slots=slots, stride=stride)
        self._regions.append(region)
        return region

    def clear(self) -> int:
        """Give back all memory that is not lent out; the offset from which on it is free."""
        self._size = self._free_from()
        os.ftruncate(self.descriptor, self._size)
        return self._size

    def _free_from(self) -> int:
        self._regions = [region for region in self._regions if region.lent]
        return self._size if self._regions else 0

    def floats(self, offset: int, *, count: int) -> np.ndarray:
        """What a child has written behind `offset`, float32 (count,)."""
        values = np.empty(count, np.float32)
        with os.fdopen(os.dup(self.descriptor), "rb") as stream:
            stream.seek(offset)
            stream.readinto(values.data.cast("B"))
        return values

    def close(self) -> None:
        os.close(self.descriptor)


class KeptMapping:
    """The last part of the shared memory that this process has mapped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._place: tuple[int, int] | None = None

    def at(self, offset: int, length: int) -> mmap.mmap:
        if self._place != (offset, length):
            self._memory = mmap.mmap(self._descriptor, length, offset=offset)
            self._place = offset, length
        return self._memory


class Region:
    def __init__(self, memory: mmap.mmap, *, offset: int, slots: int, stride: int) -> None:
        self.offset, self.slots, self.stride = offset, slots, stride
        self.returned: deque[int] = deque()  # slots whose frames are garbage, to be given back to the child
        self.lent: dict[int, weakref.ref[np.ndarray]] = {}
        self._memory = memory

    def take(self, slot: int, shape: tuple[int, int, int]) -> np.ndarray:
        """The frame in a slot: lent while there are slots to spare, copied for a caller who keeps every frame."""
        frame = np.ndarray(shape, np.uint8, self._memory, slot * self.stride)  # every view keeps it alive
        if len(self.lent) >= self.slots // 2:
            self.returned.append(slot)
            return frame.copy()
        self.lent[slot] = weakref.ref(frame, partial(self._give_back, slot))
        return frame

    def _give_back(self, slot: int, _: weakref.ref[np.ndarray]) -> None:
        del self.lent[slot]
        self.returned.append(slot)


def slot_views(memory: mmap.mmap, *, slots: int, stride: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The child's side: the slots of a request as arrays to write into."""
    count = math.prod(shape)
    return [np.frombuffer(memory, np.uint8, count=count, offset=i * stride).reshape(shape) for i in range(slots)]
