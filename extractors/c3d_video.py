"""C3D over a whole video at once, as dualAFR uses it: the video is one clip, however long.

A row is one step of pool5, 16 chosen frames. A lower level has more steps in it, so a row of `pool2` is the eight that
lie there, (8, 28, 28, 128); after the video's end they are zero, and the row's `valid` frames say how many are real:
ceil(valid / 2), / 4, / 8, / 16 for pool2, 3, 4, 5. Rows put end to end are the level's map of the video.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from extractors.base import Extractor, ExtractorError, Takes, require_outputs
from extractors.parts.c3d_network import POOLS, WINDOW, C3dExtractor, load
from extractors.parts.resizing import ResizeLibrary

VERSION = 1
TAKES: Takes = "video"
STEPS = dict(zip(POOLS[1:], (2, 4, 8, 16), strict=True))  # frames that lie in one step of a level
OUTPUTS = tuple(STEPS)
# A step of pool5 sees 30 frames beyond its own 16 on either side: the convolutions add 1 + 1 + 2·2 + 2·4 + 2·8.
# So pieces of a long video with two more rows around them give the same numbers as the whole, in bounded memory.
REACH = 32
PIECE = 128  # frames


class C3dVideo(Extractor):
    takes = TAKES

    def __init__(self, clips: C3dExtractor) -> None:
        self.clips = clips
        self.device, self.outputs, self.preprocessing = clips.device, clips.outputs, clips.preprocessing

    def prepare(self, frame: np.ndarray) -> Tensor:
        return self.clips.prepare(frame)

    @torch.inference_mode()
    def __call__(self, batch: Tensor) -> dict[str, Tensor]:
        """(1, N, 3, 112, 112), all frames -> ceil(N / 16) rows."""
        pieces = [self._piece(batch, first) for first in range(0, batch.shape[1], PIECE)]
        return {name: torch.cat([piece[name] for piece in pieces]) for name in self.outputs}

    def _piece(self, batch: Tensor, first: int) -> dict[str, Tensor]:
        start = max(0, first - REACH)
        maps = self.clips.forward(batch[:, start : first + PIECE + REACH].to(self.device))  # (1, T, h, w, C)
        lead, length = first - start, min(PIECE, batch.shape[1] - first)
        return {name: as_rows(maps[name][0], lead=lead, length=length, step=STEPS[name]) for name in maps}


def as_rows(steps: Tensor, *, lead: int, length: int, step: int) -> Tensor:
    """The map of `length` frames after `lead` of them, (T, h, w, C), as rows of 16 frames, (R, 16 / step, h, w, C)."""
    own = steps[lead // step : lead // step + -(-length // step)]
    each = WINDOW // step
    return F.pad(own, (0, 0, 0, 0, 0, 0, 0, -len(own) % each)).unflatten(0, (-1, each))


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int = WINDOW,
    device: str = "cpu",
    resize: ResizeLibrary = "published",
    direct: bool = True,
) -> C3dVideo:
    """`direct` resizes frames straight to 112 x 112, as dualAFR does; otherwise 171 x 128 and its centre."""
    require_outputs(outputs, known=OUTPUTS, network=network)
    if window != WINDOW:
        raise ExtractorError(f"a row of c3d_video is {WINDOW} frames: its sampling must give window {WINDOW}")
    model = load(network, weights)
    return C3dVideo(C3dExtractor(model, outputs=outputs, window=window, device=device, direct=direct, resize=resize))
