"""Torch as the user left it: the rooms settle for one thread and exact convolutions, and untrained networks are seeded.

That is right in a process of their own, and wrong in a notebook that trains something else afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_of_the_rooms() -> Iterator[None]:
    """Their settings inside, also for a network that was built before; afterwards the process's, and its seeds."""
    threads, tf32 = torch.get_num_threads(), torch.backends.cudnn.allow_tf32
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices=gpus):
        torch.set_num_threads(1)
        torch.backends.cudnn.allow_tf32 = False
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.backends.cudnn.allow_tf32 = tf32
