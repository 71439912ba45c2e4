"""Scenes of every kind, and a small demo set made once for all tests that only look at it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import strategies as st

from pipeline.core.console import Console
from pipeline.demo.making import DemoSettings, make_demo_set
from pipeline.demo.plan import BUILDERS, Clip, Twins, plan

SMALL = DemoSettings(seed=3, clips=20)


def twins(*slices: str) -> st.SearchStrategy[Twins]:
    """Any twins of the given slices (of all, when none is given)."""
    builders = [build for name in slices or BUILDERS for build in BUILDERS[name]]
    return st.builds(lambda build, seed: build(random.Random(seed)), st.sampled_from(builders), st.integers(0, 2**32))


@pytest.fixture(scope="session")
def whole_plan() -> list[Clip]:
    return plan(seed=0)


@pytest.fixture(scope="session")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo") / "set"
    make_demo_set(out, settings=SMALL, workers=1, console=Console(quiet=True))
    return out
