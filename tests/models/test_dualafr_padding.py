"""dualAFR's aligning convolution: the work is that of the steps a video has, and the numbers are those of all steps."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from models.base import Modality
from models.parts.alignment import LEVELS, ConvolutionAlignment
from tests.models.test_dualafr import CHANNELS, as_rows, level_map

WIDTH = 4
BATCHES = {"short": [10], "mixed": [10, 40, 3, 10], "one row and many": [16, 80], "nothing": [16, 0], "a frame": [1]}
every_batch = pytest.mark.parametrize("lengths", BATCHES.values(), ids=BATCHES)


def batch(name: str, lengths: list[int]) -> Modality:
    """Rows of 16 frames; the last one has zeros after the end, and rows after it are rubbish."""
    most = -(-max(lengths) // 16)
    videos = [as_rows(level_map(name, frames, seed), name, rows=most) for seed, frames in enumerate(lengths) if frames]
    empty = Modality(torch.full_like(videos[0].values, 1e3), torch.zeros_like(videos[0].mask))
    videos += [empty] * (len(lengths) - len(videos))
    return Modality(torch.cat([each.values for each in videos]), torch.cat([each.mask for each in videos]))


def over_all_steps(module: ConvolutionAlignment, rows: Modality) -> Tensor:
    """The equation, padding and all."""
    maps = (rows.values * rows.mask.view(*rows.mask.shape, 1, 1, 1, 1)).flatten(1, 2).permute(0, 4, 1, 2, 3)
    real = maps.ne(0).any(1, keepdim=True).any(3, keepdim=True).any(4, keepdim=True)
    return F.max_pool3d(F.relu(module.convolution(maps)) * real, module.ratio, ceil_mode=True)


@every_batch
@pytest.mark.parametrize("name", ["pool2", "pool3", "pool4"])
def test_values_and_gradients_are_those_of_all_steps(name: str, lengths: list[int]) -> None:
    torch.manual_seed(0)
    module, rows = ConvolutionAlignment(CHANNELS[name], WIDTH, LEVELS[name]), batch(name, lengths)
    found, expected = module(rows), over_all_steps(module, rows)
    weights = torch.rand_like(expected)  # so that no two places pull alike

    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    pulls = [torch.autograd.grad((each * weights).sum(), list(module.parameters())) for each in (found, expected)]
    for ours, theirs in zip(*pulls, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_step_without_any_activation_does_not_end_the_video() -> None:
    torch.manual_seed(0)
    module, rows = ConvolutionAlignment(2, WIDTH, LEVELS["pool2"]), batch("pool2", [40])
    rows.values[0, 0, 3] = 0.0

    torch.testing.assert_close(module(rows), over_all_steps(module, rows), rtol=1e-6, atol=1e-6)


@every_batch
def test_the_work_is_that_of_the_steps_there_are(lengths: list[int]) -> None:
    module, rows = ConvolutionAlignment(2, WIDTH, LEVELS["pool2"]), batch("pool2", lengths)
    with FlopCounterMode(display=False) as counter:
        module(rows)

    steps = sum(max(-(-frames // 2), 1) for frames in lengths)  # pool2 has one for two frames
    assert counter.get_total_flops() == 2 * steps * 28 * 28 * 2 * WIDTH * 7**3
