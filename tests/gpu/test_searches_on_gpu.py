"""Every search that `caption.search` names, with every captioner on a simulated GPU."""

from __future__ import annotations

from functools import partial

import pytest

from pipeline.captioner.sampled_captions import SampleSearch
from pipeline.captioner.search import CaptionSearch, Search, beam_sentences, search_readings
from pipeline.captioning.closeness import cider_closeness
from pipeline.captioning.consensus import Consensus
from tests.gpu.simulated import GPU, simulated_gpu
from tests.gpu.test_captioners_on_gpu import CAPTIONS, VIDEOS, WORDS, features
from tests.models.test_captioners import CASES, build

SAMPLES = SampleSearch(max_words=3)
SEARCHES: dict[str, CaptionSearch] = {
    "beam": Search(3, 3),
    "beam, no_repeat": Search(3, 3, no_repeat=1),
    "beam, length_power": Search(3, 3, length_power=0.5),
    "sample": SAMPLES,
    "consensus of samples": Consensus(partial(SAMPLES.draw, count=2), cider_closeness(CAPTIONS), WORDS),
    "consensus of beams": Consensus(
        partial(beam_sentences, search=Search(3, 3)), cider_closeness(CAPTIONS), WORDS, lambda _: CAPTIONS
    ),
}
QUICK = "mean_pool"


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    "name", [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_every_search(name: str, search: str) -> None:
    with simulated_gpu():
        model = build(name).to(GPU)
        found = search_readings(model.eval(), features(name, GPU), SEARCHES[search], videos=VIDEOS, first_reading=True)

    assert len(found) == len(VIDEOS)
    assert all(each.device.type == "cpu" for best, _ in found for each in best.attention.values())
