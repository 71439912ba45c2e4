"""Real schedulers and workers. Workers are forked from one warm process: importing torch for each takes too long."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.console import Console
from tests.store.making import add_toy_family, write_clips
from workflows.cluster.executor import DaskExecutor
from workflows.profiles.schema import Node

pytest.importorskip("distributed")
QUIET = Console(quiet=True)
Workers = Callable[..., DaskExecutor]


@pytest.fixture(scope="session", autouse=True)
def forked_workers() -> Iterator[None]:
    import dask
    from distributed.utils import get_mp_context

    add_toy_family()
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])  # for the process that workers are forked from
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        context = get_mp_context()  # sets a list of its own first
        assert context is multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["distributed", "tests.cluster.warm"])
        yield


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    write_clips(folder, 12)
    return folder


@pytest.fixture
def workers() -> Workers:
    """An executor on this machine: `workers(2, attempts=3)`."""

    def make(count: int, **settings: Any) -> DaskExecutor:
        quick = {"dashboard": None, "videos_per_task": 2, "wait": 300.0, **settings}
        return DaskExecutor(Node(kind="node", workers=count, device="cpu", **quick), QUIET)

    return make


def journal(folder: Path) -> list[dict[str, Any]]:
    """All lines that workers and client wrote."""
    return [json.loads(line) for path in sorted(folder.glob("logs/*/*.jsonl")) for line in path.open()]
