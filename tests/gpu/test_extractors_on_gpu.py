"""Every family and every card on a simulated GPU: nothing of a network, and nothing that it makes, stays on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily

from extractors.base import AudioExtractor, Extractor
from extractors.parts.optical_flow.tvl1 import Tvl1
from extractors.parts.transformer_inputs import spectrum
from pipeline.catalogue import family_module, lookahead_of
from pipeline.extraction.build_extractor import options_of
from tests.extractors.recorded_cases import CASES, picture
from tests.extractors.test_cards import CARDS, untrained_and_small
from tests.gpu.simulated import GPU, simulated_gpu

# The network of detectron2's stand-in resizes with numpy, as that of the package does
FAMILIES = {
    f"{family}: {name}": (family, case)
    for family in CASES
    if family != "detectron"
    for name, case in CASES[family].items()
}
QUICK = ("frames: opencv", "faster_rcnn: bottom_up_r50", "flow: spynet", "soundnet: soundnet8", "vggish: pca")


def standing_flow(method: Tvl1, first: Tensor, second: Tensor) -> Tensor:
    """In place of OpenCV's, which needs numbers: it takes its pictures to the CPU and its flow to where they were."""
    return first.cpu()[:, :2].to(first.device)


def spectrum_of_numbers(processor: Any, samples: np.ndarray) -> Tensor:
    with unset_fake_temporarily():
        return spectrum(processor, samples)


def require_rows_from_gpu(
    family: str, network: str, outputs: list[str], window: int | None, options: Mapping[str, Any]
) -> None:
    lengths = {} if window is None else {"window": window}
    with (
        patch.object(Tvl1, "between", standing_flow),
        patch("extractors.transformers.spectrum", spectrum_of_numbers),
        simulated_gpu() as mode,
    ):
        extractor = family_module(family).build(
            network, outputs=outputs, weights=None, device=GPU, **lengths, **options
        )
    batch = prepared(extractor, (window or 1) + lookahead_of(family))
    with patch.object(Tvl1, "between", standing_flow), simulated_gpu(mode):
        rows = extractor(batch)

    assert {name: rows[name].shape[1:] for name in outputs} == {name: extractor.outputs[name] for name in outputs}
    assert all(rows[name].device.type == "cuda" for name in outputs if on_device(family, network, options, name))


def on_device(family: str, network: str, options: Mapping[str, Any], output: str) -> bool:
    """A number of regions is counted by Python, and TV-L1 itself runs on the CPU."""
    return output != "count" and (family, network) != ("flow", "tvl1")


def prepared(extractor: Extractor, frames: int) -> Tensor:
    """A batch on the CPU, prepared from real pictures or sound."""
    if isinstance(extractor, AudioExtractor):
        return extractor.prepare(np.zeros(extractor.window, np.float32))[None]
    each = torch.stack([extractor.prepare(picture(number % 4)) for number in range(max(frames, 2))])
    return each if extractor.takes == "frames" else each[None, : max(frames, 1)]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES]
)
def test_every_family(name: str) -> None:
    family, case = FAMILIES[name]

    require_rows_from_gpu(family, case.network, list(case.outputs), case.sampling.get("window"), case.options)


@pytest.mark.slow
@pytest.mark.parametrize("name", CARDS)
def test_every_card(name: str) -> None:
    params = untrained_and_small(CARDS[name])

    require_rows_from_gpu(params.family, params.network, params.outputs, params.sampling.window, options_of(params))
