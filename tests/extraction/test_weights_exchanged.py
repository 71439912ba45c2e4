"""A worker that lives longer than a weights file computes with the file of the run, or the run ends."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.core.errors import InputError
from pipeline.extraction import build_extractor
from pipeline.store import open_store, spec_of
from pipeline.weights.converted import FIRST_USE, write_converted
from tests.store.making import KnowingToy, add_toy_family, content, extracted, index_of, toy, write_clips

NAME = "mobilenet_v2"  # of the registry; the numbers are the toy's
PARAMS = toy(weights=NAME)


@dataclass(frozen=True)
class LongLived:
    """A worker process that is there before a run and after it."""

    pool: ProcessPoolExecutor
    before: Callable[[], object] = lambda: None  # what happens once the run has read its inputs
    workers: int = 1

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        self.before()
        return self.pool.map(KnowingToy(work), items)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a project that its process, and the worker, stand in."""
    add_toy_family()
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        write_clips(folder / "videos", 2)
        yield index_of(folder / "videos", folder / "index")


@pytest.fixture(scope="module")
def pool(index: Path) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def write_weights(*, brightness: float) -> None:
    state = {"brightness": np.array([brightness], np.float32)}
    specs = {key: spec_of(array) for key, array in state.items()}
    write_converted(NAME, specs, state.__getitem__, folder=Path("weights"), record={"proof": FIRST_USE})


def require_truth(index: Path, store: Path) -> None:
    """What a process that never saw other weights computes with those that are there."""
    shutil.rmtree("cache")
    build_extractor.load_extractor.cache_clear()
    extracted(index, Path("truth"), params=PARAMS)
    assert content(store) == content(Path("truth"))


def test_exchanged_between_two_runs(index: Path, pool: ProcessPoolExecutor) -> None:
    one, two = (Path(name) for name in ("one", "two"))
    write_weights(brightness=1)
    extracted(index, one, params=PARAMS, executor=LongLived(pool))
    write_weights(brightness=2)

    assert extracted(index, two, params=PARAMS, executor=LongLived(pool))["computed"] == 2

    assert not np.array_equal(*(open_store(store)["clip000"]["colour"] for store in (one, two)))
    require_truth(index, two)


def test_exchanged_before_the_worker_reads_them(index: Path, pool: ProcessPoolExecutor) -> None:
    """The cache keeps features under the hash that the run took: nothing of other weights may come there."""
    write_weights(brightness=3)
    with pytest.raises(InputError) as told:
        extracted(
            index, Path("never"), params=PARAMS, executor=LongLived(pool, before=lambda: write_weights(brightness=4))
        )
    assert not Path("never").exists()

    write_weights(brightness=3)
    extracted(index, Path("again"), params=PARAMS, executor=LongLived(pool))
    require_truth(index, Path("again"))
    assert re.search(r"mobilenet_v2.safetensors on \S+ is not the file that this run began with", told.value.message)


def test_exchanged_while_they_are_read(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = build_extractor.load_weights

    def raced(name: str) -> dict[str, torch.Tensor]:
        write_weights(brightness=6)
        return load(name)

    write_weights(brightness=5)
    monkeypatch.setattr(build_extractor, "load_weights", raced)

    with pytest.raises(InputError, match="is not the file that this run began with"):
        extracted(index, Path("never"), params=PARAMS)
