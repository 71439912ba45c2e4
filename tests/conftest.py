"""Tests run two at a time on two cores: more threads in each would only stand in each other's way."""

import ctypes
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import pipeline  # noqa: F401 - before any test imports a library that would call home

os.environ.setdefault("OMP_NUM_THREADS", "1")
for name in ("CACHE", "CACHE_URL", "HUB", "SPICE", "SPOOL_GB"):  # of whoever runs the tests
    os.environ.pop(f"FRAMESCRIBE_{name}", None)
os.environ["FRAMESCRIBE_PROFILE"] = str(Path(__file__).with_name("one_worker.yaml"))  # what is of more asks for them
# No test asserts a time, and none is a matter of luck: the examples follow from the test. `explore` looks for new ones.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("framescribe", settings.get_profile("explore"), derandomize=True)
settings.load_profile("framescribe")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first: a file runs on one worker, and the others fill the second one meanwhile."""
    items.sort(key=lambda item: "test_graph" not in item.nodeid)


@pytest.fixture(autouse=True, scope="module")
def _memory() -> Iterator[None]:
    """A worker keeps its network and the memory that it freed; tests of two hundred networks give them back."""
    yield
    if built := sys.modules.get("pipeline.extraction.build_extractor"):
        built.load_extractor.cache_clear()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


@pytest.fixture(autouse=True)
def _seeds() -> None:
    """A new process seeds these from the clock, and which files come before on a worker is luck too."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with this project's params.yaml, for commands that rewrite it."""
    shutil.copy(Path(__file__).parents[1] / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRACER = """
import ctypes, sys
SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
print(libc.ptrace(SEIZE, int(sys.argv[1]), None, None), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def traced() -> Iterator[Callable[[int], None]]:
    """As under a debugger: a killed process stays until its tracer has looked, whatever its parent waits for."""
    tracers: list[subprocess.Popen[str]] = []

    def trace(process: int) -> None:
        command = [sys.executable, "-c", TRACER, str(process)]
        tracers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert tracers[-1].stdout
        if tracers[-1].stdout.readline().strip() != "0":
            pytest.skip("processes may not be traced here")

    yield trace
    for tracer in tracers:
        tracer.communicate()
