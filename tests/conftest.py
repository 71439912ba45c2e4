"""Tests run two at a time on two cores: more threads in each would only stand in each other's way."""

import os

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("framescribe", deadline=None)  # no test asserts a time
settings.load_profile("framescribe")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The graph test is the longest and runs on one worker: the other tests fill the second one meanwhile."""
    items.sort(key=lambda item: "test_graph" not in item.nodeid)
