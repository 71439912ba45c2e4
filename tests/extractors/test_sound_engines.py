"""Networks on sound run on any engine, within a bound of PyTorch's own."""

from __future__ import annotations

import numpy as np
import pytest

from extractors import openl3, soundnet, vggish
from extractors.parts import engines
from extractors.parts.network import NetworkExtractor

BOUND = 1e-4  # relative to the largest value
BUILDERS = {
    "vggish": lambda: vggish.build("vggish", outputs=["pool"], weights=None),
    "soundnet": lambda: soundnet.build("soundnet8", outputs=["pool", "conv7"], weights=None),
    "openl3": lambda: openl3.build("mel128_env", outputs=["pool"], weights=None),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", engines.EXPORTED)
@pytest.mark.parametrize("name", BUILDERS)
def test_engines_agree(name: str, engine: engines.Engine) -> None:
    if missing := engines.missing_packages(engine):
        pytest.skip(f"{engine} needs {missing[0]}")
    extractor = BUILDERS[name]()
    assert isinstance(extractor, NetworkExtractor)
    sound = np.random.default_rng(0).normal(scale=0.1, size=extractor.window).astype(np.float32)
    batch = extractor.prepare(sound)[None].repeat(2, *[1] * extractor.prepare(sound).dim())
    expected = extractor(batch)
    extractor.use(engine)

    for tap, rows in extractor(batch).items():
        assert float((rows - expected[tap]).abs().max() / expected[tap].abs().max()) < BOUND
