"""Levels of a network brought to the grid and the channels of the highest one (dualAFR, Eq. 3 and its baselines).

Maps come as rows of 16 frames, (B, R, steps, h, w, C), that lie end to end; after a video's end they are zero. Rows of
an image network's stages, (B, R, h, w, C), are one step each and have no reach in time. Each module here returns
(B, D, R, H, W) with the grid of pool5, where only rows that a video has mean anything.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.base import Modality


class FeatureLevel(NamedTuple):
    ratio: int  # its steps in a step of pool5, in time and in both directions
    kernel: int  # of the aligning convolution
    field: int  # steps that a step of pool5 sees, by the paper's Table 5
    steps: int  # C3D's map of 16 frames of 112 x 112
    side: int


LEVELS = {
    "pool2": FeatureLevel(ratio=8, kernel=7, field=22, steps=8, side=28),
    "pool3": FeatureLevel(ratio=4, kernel=5, field=10, steps=4, side=14),
    "pool4": FeatureLevel(ratio=2, kernel=3, field=4, steps=2, side=7),
    "pool5": FeatureLevel(ratio=1, kernel=1, field=1, steps=1, side=4),
}
HIGHEST = "pool5"
MLP_SIZE = 64  # hidden units where a whole row goes into one MLP: pool2 alone has 802,816 numbers per row


def end_to_end(rows: Modality) -> tuple[Tensor, Tensor]:
    """The map of the video, (B, C, T, h, w), and which steps lie within it, (B, T)."""
    values = rows.values * _over(rows.mask, rows.values)
    steps = values.flatten(1, 2) if values.dim() == 6 else values  # (B, T, h, w, C)
    return steps.permute(0, 4, 1, 2, 3), steps.ne(0).flatten(2).any(-1)


def of_one_length(real: Tensor) -> list[tuple[int, Tensor]]:
    """Lengths, and the videos that have them; after its last real step (B, T) a video has nothing but zeros."""
    places = torch.arange(1, real.shape[1] + 1, device=real.device)
    lengths = (real * places).amax(1).clamp(min=1)  # (B,)
    return [(length, (lengths == length).nonzero().squeeze(1)) for length in lengths.unique().tolist()]


def over_time(size: int, rows: Modality) -> int:
    """Steps of an extent that is `size` cells in space: the same where a row has steps, one where it is a picture."""
    return size if rows.values.dim() == 6 else 1


class ConvolutionAlignment(nn.Module):
    """The paper's: a convolution finds the meaning, max pooling the place."""

    def __init__(self, channels: int, width: int, level: FeatureLevel) -> None:
        super().__init__()
        self.ratio = level.ratio
        self.convolution = nn.Conv3d(channels, width, level.kernel, padding=level.kernel // 2)

    def forward(self, rows: Modality) -> Tensor:
        """Videos of one length together: nearly all the time goes into the convolution, and none of it into padding."""
        maps, real = end_to_end(rows)
        window = (over_time(self.ratio, rows), self.ratio, self.ratio)
        alike = of_one_length(real)
        found = [self._aligned(maps[videos, :, :length], real[videos, :length], window) for length, videos in alike]
        steps = -(-maps.shape[2] // window[0])
        longest = [F.pad(each, [0, 0, 0, 0, 0, steps - each.shape[2]]) for each in found]
        return torch.cat(longest)[torch.cat([videos for _, videos in alike]).argsort()]

    def _aligned(self, maps: Tensor, real: Tensor, window: tuple[int, int, int]) -> Tensor:
        found = F.relu(self.convolution(maps)) * real[:, None, :, None, None]  # zero never wins against real steps
        return F.max_pool3d(found, window, ceil_mode=True)


class Identity(nn.Module):
    """The highest level is what the others are aligned with."""

    def forward(self, rows: Modality) -> Tensor:
        return end_to_end(rows)[0]


class Pooling(nn.Module):
    """Baseline: the largest or the mean of all that a step of pool5 sees, then an MLP (Eqs. 17 and 18)."""

    def __init__(self, channels: int, width: int, level: FeatureLevel, *, largest: bool) -> None:
        super().__init__()
        self.field, self.ratio = level.field, level.ratio
        self.largest = largest
        self.embed = _mlp(channels, width)

    def forward(self, rows: Modality) -> Tensor:
        maps, real = end_to_end(rows)
        real = real[:, None, :, None, None].expand(-1, 1, -1, *maps.shape[3:])  # (B, 1, T, h, w)
        seen = Window(*((over_time(size, rows), size, size) for size in (self.field, self.ratio)))
        return _per_place(self.embed, (_largest if self.largest else _average)(maps, real, seen))


class Window(NamedTuple):
    """What a step of pool5 sees of a level, and how far it lies from the next: (time, height, width) each."""

    field: tuple[int, int, int]
    step: tuple[int, int, int]

    @property
    def padding(self) -> tuple[int, int, int]:
        time, height, width = ((field - step) // 2 for field, step in zip(self.field, self.step, strict=True))
        return time, height, width

    def along(self, axis: int) -> Window:
        """The same in one direction alone."""
        lines = ([size if at == axis else 1 for at, size in enumerate(each)] for each in self)
        return Window(*((time, height, width) for time, height, width in lines))


def _largest(maps: Tensor, real: Tensor, seen: Window) -> Tensor:
    found = maps.masked_fill(~real, -torch.inf)
    for axis in range(3):  # the same as all at once, with 22 + 22 + 22 comparisons instead of 22 * 22 * 22
        line = seen.along(axis)
        found = F.max_pool3d(found, line.field, line.step, line.padding, ceil_mode=True)
    return found.masked_fill(found.isinf(), 0.0)  # rows after the end


def _average(maps: Tensor, real: Tensor, seen: Window) -> Tensor:
    return _sum(maps, seen) / _sum(real.to(maps.dtype), seen).clamp(min=1)


def _sum(maps: Tensor, seen: Window) -> Tensor:
    time, height, width = seen.padding  # by hand: avg_pool3d refuses a window larger than the map itself
    wide = F.pad(maps, [width, width, height, height, time, time])
    return F.avg_pool3d(wide, seen.field, seen.step, ceil_mode=True, divisor_override=1)


class Hypercolumn(nn.Module):
    """Baseline: the level's value at the middle of each step of pool5, interpolated, then an MLP."""

    def __init__(self, channels: int, width: int, level: FeatureLevel) -> None:
        super().__init__()
        self.ratio = level.ratio
        self.embed = _mlp(channels, width)

    def forward(self, rows: Modality) -> Tensor:
        maps, real = end_to_end(rows)
        lengths = real.sum(1, keepdim=True).clamp(min=1)  # (B, 1)
        for axis in (3, 4):
            side = torch.full_like(lengths, maps.shape[axis])
            maps = _middles(maps, axis, side, ratio=self.ratio)
        return _per_place(self.embed, _middles(maps, 2, lengths, ratio=over_time(self.ratio, rows)))


def _middles(maps: Tensor, axis: int, lengths: Tensor, *, ratio: int) -> Tensor:
    """Halfway between the two steps around the middle; a middle beyond the end is the last step."""
    starts = torch.arange(0, maps.shape[axis], ratio, device=maps.device)
    before, after = (
        _take(maps, axis, torch.minimum(starts + at, lengths - 1)) for at in ((ratio - 1) // 2, ratio // 2)
    )
    return (before + after) / 2


class WholeRow(nn.Module):
    """Baseline: an MLP from all of a level's row to all of a row of pool5; where things were is lost."""

    def __init__(self, channels: int, width: int, level: FeatureLevel) -> None:
        super().__init__()
        self.shape = (width, LEVELS[HIGHEST].side, LEVELS[HIGHEST].side)
        given, wanted = level.steps * level.side**2 * channels, width * LEVELS[HIGHEST].side ** 2
        self.embed = nn.Sequential(nn.Linear(given, MLP_SIZE), nn.ReLU(), nn.Linear(MLP_SIZE, wanted))

    def forward(self, rows: Modality) -> Tensor:
        values = rows.values * _over(rows.mask, rows.values)
        return self.embed(values.flatten(2)).unflatten(2, self.shape).transpose(1, 2)


def make_alignment(kind: str, name: str, *, channels: int, width: int) -> nn.Module:
    level = LEVELS[name]
    if name == HIGHEST and kind in ("conv", "mlp"):
        return Identity()
    make = {"conv": ConvolutionAlignment, "mlp": WholeRow, "hypercolumn": Hypercolumn}
    if kind in make:
        return make[kind](channels, width, level)
    return Pooling(channels, width, level, largest=kind == "max")


KINDS = ("conv", "mlp", "max", "average", "hypercolumn")


def _mlp(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(channels, width), nn.ReLU(), nn.Linear(width, width))


def _per_place(embed: nn.Module, maps: Tensor) -> Tensor:
    return embed(maps.movedim(1, -1)).movedim(-1, 1)


def _over(mask: Tensor, values: Tensor) -> Tensor:
    """(B, R) as something that multiplies (B, R, ...)."""
    return mask.view(*mask.shape, *[1] * (values.dim() - 2)).to(values.dtype)


def _take(maps: Tensor, axis: int, at: Tensor) -> Tensor:
    """Steps `at` (B, I) of one axis, each video its own."""
    shape = [1] * maps.dim()
    shape[0], shape[axis] = at.shape
    wanted = [size if number != axis else at.shape[1] for number, size in enumerate(maps.shape)]
    return maps.gather(axis, at.view(shape).expand(wanted))
