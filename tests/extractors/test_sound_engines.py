"""Networks on sound run on any engine, within a bound of PyTorch's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from extractors import openl3, soundnet, vggish
from extractors.parts import engine_names, engines
from extractors.parts.network import NetworkExtractor
from extractors.vggish import VggishExtractor
from pipeline.extraction.build_extractor import takes_batches, with_engine
from pipeline.extraction.fingerprint import fingerprint
from pipeline.params import Extract

BOUND = 1e-4  # relative to the largest value
BUILDERS = {
    "vggish": lambda: vggish.build("vggish", outputs=["pool"], weights=None),
    "soundnet": lambda: soundnet.build("soundnet8", outputs=["pool", "conv7"], weights=None),
    "openl3": lambda: openl3.build("mel128_env", outputs=["pool"], weights=None),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", engine_names.EXPORTED)
@pytest.mark.parametrize("name", BUILDERS)
def test_engines_agree(name: str, engine: engine_names.Engine) -> None:
    if missing := engine_names.missing_packages(engine):
        pytest.skip(f"{engine} needs {missing[0]}")
    extractor = BUILDERS[name]()
    assert isinstance(extractor, NetworkExtractor)
    sound = np.random.default_rng(0).normal(scale=0.1, size=extractor.window).astype(np.float32)
    row = extractor.prepare(sound)
    batch = torch.stack([row, row * 0.5, row * 0.1])
    expected = extractor(batch)
    record = {"family": name, "network": name}
    with_engine(extractor, engine, "float32", weights="random", record=record)

    for count in (3, 2, 1):
        for tap, rows in extractor(batch[:count]).items():
            assert rows.shape == expected[tap][:count].shape
            assert float((rows - expected[tap][:count]).abs().max() / expected[tap].abs().max()) < BOUND


class Wide(VggishExtractor):
    """A network that is mostly weights, and small enough for every run of the tests."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.prepare_for_inference(nn.Sequential(nn.Flatten(), nn.Linear(12, 5)), row=(3, 4), device="cpu")

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        return {"pool": self.network(batch)}


@pytest.mark.parametrize("engine", engine_names.EXPORTED)
def test_a_batch_of_what_is_mostly_weights_goes_through_the_graph_at_once(
    engine: engine_names.Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if missing := engine_names.missing_packages(engine):
        pytest.skip(f"{engine} needs {missing[0]}")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    sizes: list[int] = []
    run_of = getattr(engines, f"_{engine}")

    def counting(graph: bytes):
        run = run_of(graph)
        return lambda batch: (sizes.append(len(batch)), run(batch))[1]

    monkeypatch.setattr(engines, f"_{engine}", counting)
    extractor, batch = Wide(), torch.randn(8, 3, 4)
    expected = extractor(batch)["pool"]
    with_engine(extractor, engine, "float32", weights="random", record={"family": "vggish", "network": "wide"})

    found = [extractor(batch[:count])["pool"] for count in (8, 5, 1)]

    assert sizes == [8, 5, 1]
    for rows in found:
        torch.testing.assert_close(rows, expected[: len(rows)], rtol=BOUND, atol=1e-6)


def test_the_fingerprint_says_so_and_that_of_every_other_is_as_it_was() -> None:
    params = Extract(family="vggish", network="vggish", outputs=["pool"], weights="random", sampling={"hop": 0.96})
    narrow = soundnet.build("soundnet8", outputs=["conv1"], weights=None)
    facts = {"weights": "random", "preprocessing": {}, "code": 1, "device": "cpu"}
    together, alone = (fingerprint(params, **facts, takes_batches=given) for given in (True, False))

    assert takes_batches(Wide(), "openvino")
    assert not takes_batches(Wide(), "eager")
    assert not takes_batches(Wide(), "compile")
    assert not takes_batches(narrow, "openvino")
    assert together["extractor"] == {**alone["extractor"], "graph": "any number of rows"}
