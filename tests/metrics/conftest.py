"""Java, real and fake, for the scorers' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.metrics.java import JavaRuntime, find_java
from pipeline.metrics.meteor import Meteor, meteor_process

FakeJava = Callable[[str], JavaRuntime]

GOLDEN_REFERENCES = {
    "1": ["a man is playing a guitar", "a man plays guitar", "someone is playing the guitar on stage"],
    "2": ["a woman is slicing a tomato", "a woman cuts a red tomato", "a person is cutting a tomato with a knife"],
    "3": ["two dogs are running in the snow", "dogs run through snow", "two dogs play in the snow"],
}
GOLDEN_HYPOTHESES = {"1": "a man is playing a guitar", "2": "a woman is cutting a tomato", "3": "a dog is running"}


def patience(script: str) -> float:
    """Seconds: few for a program that never answers, many for one that does, as a busy machine starts it late."""
    return 1.0 if "sleep" in script else 60.0


@pytest.fixture(scope="session")
def java() -> JavaRuntime:
    return find_java()


@pytest.fixture(scope="session")
def meteor(java: JavaRuntime) -> Iterator[Meteor]:
    """One process for all tests: its tables take many seconds to load."""
    with meteor_process(java=java) as process:
        yield process


@pytest.fixture
def fake_java(tmp_path: Path) -> FakeJava:
    """A shell script in the place of `java`."""

    def make(script: str) -> JavaRuntime:
        path = tmp_path / "java"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return JavaRuntime(path=path, version="0", source="test")

    return make
