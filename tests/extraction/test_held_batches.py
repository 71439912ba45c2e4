"""Memory: what a video in flight holds does not grow with its length, nor with how late the device is."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch

from extractors.base import Extractor
from pipeline.core.executors import InProcess
from pipeline.extraction import forward_pass
from pipeline.extraction.device import Found
from pipeline.extraction.fingerprint import BATCH
from tests.extraction.test_device import Clip, Forward, Numbered, StandIn


@pytest.mark.parametrize("count", [1, 3])
def test_a_video_holds_four_batches_at_most(count: int) -> None:
    """At the device, waiting for it, ready, and being filled: however late the device is."""
    kept, most = dict[int, list[weakref.ref]](), list[int]()

    class Slow(StandIn):
        def pinned(self, batch: torch.Tensor) -> torch.Tensor:
            pinned = super().pinned(batch)
            of_video = kept.setdefault(int(batch[0]) // 1000, [])
            of_video.append(weakref.ref(pinned))
            most.append(sum(each() is not None for each in of_video))
            return pinned

        def start(self, extractor: Extractor, batch: torch.Tensor) -> Callable[[], Found]:
            time.sleep(0.005)
            return super().start(extractor, batch)

    device = Slow()
    with patch.object(forward_pass, "device_of", lambda _: device):
        list(InProcess(count).map(Forward(Numbered()), [Clip(number, 20 * BATCH) for number in range(3)]))

    assert len(most) == 60
    assert max(most) <= 4
