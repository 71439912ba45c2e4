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
        self._lent = 0
        self._mapped = KeptMapping(self.descriptor)

    def place(self, *, slots: int, slot_bytes: int) -> Region:
        """Room for a request, behind whatever earlier requests have lent out and not got back."""
        stride = -(-slot_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        offset = self._size if self._lent else 0
        self._size = offset + slots * stride
        os.ftruncate(self.descriptor, self._size)
        return Region(self, self._mapped.at(offset, slots * stride), offset=offset, slots=slots, stride=stride)

    def clear(self) -> int:
        """Give back all memory that is not lent out; the offset from which on it is free."""
        self._size = self._size if self._lent else 0
        os.ftruncate(self.descriptor, self._size)
        return self._size

    def floats(self, offset: int, *, count: int) -> np.ndarray:
        """What a child has written behind `offset`, float32 (count,)."""
        values = np.empty(count, np.float32)
        with os.fdopen(os.dup(self.descriptor), "rb") as stream:
            stream.seek(offset)
            stream.readinto(values.data.cast("B"))
        return values

    def close(self) -> None:
        os.close(self.descriptor)

    def _count(self, change: int) -> None:
        self._lent += change


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
    def __init__(self, arena: Arena, memory: mmap.mmap, *, offset: int, slots: int, stride: int) -> None:
        self.offset, self.slots, self.stride = offset, slots, stride
        self.returned: deque[int] = deque()  # slots whose frames are garbage, to be given back to the child
        self._arena = arena
        self._lent = 0
        self._memory = memory

    def take(self, slot: int, shape: tuple[int, int, int]) -> np.ndarray:
        """The frame in a slot: lent while there are slots to spare, copied for a caller who keeps every frame."""
        owner = np.frombuffer(self._memory, np.uint8, count=math.prod(shape), offset=slot * self.stride)
        if self._lent >= self.slots // 2:
            self.returned.append(slot)
            return owner.reshape(shape).copy()
        self._lent += 1
        self._arena._count(+1)
        weakref.finalize(owner, self._give_back, slot).atexit = False
        return owner.reshape(shape)  # every view keeps `owner` alive

    def _give_back(self, slot: int) -> None:
        self._lent -= 1
        self._arena._count(-1)
        self.returned.append(slot)


def slot_views(memory: mmap.mmap, *, slots: int, stride: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The child's side: the slots of a request as arrays to write into."""
    count = math.prod(shape)
    return [np.frombuffer(memory, np.uint8, count=count, offset=i * stride).reshape(shape) for i in range(slots)]
