"""Keep freed memory: a CPU forward pass allocates and frees the same megabytes for every batch."""

from __future__ import annotations

import ctypes

# glibc's numbers for mallopt(3)
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_MOST = 2**31 - 1
_PAD = 64 * 2**20


def keep_freed_memory() -> None:
    """Tell glibc not to give memory back to the system, so that its pages are not faulted in again and again.

    Nearly half of the processor time of MobileNetV2 on one core went into page faults (docs/performance.md).
    Does nothing where the C library is another one.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, _MOST)
        mallopt(_TOP_PAD, _PAD)
