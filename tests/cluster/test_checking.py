"""What `cluster check` holds against a worker: each difference by its name, and nothing when there is none."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workflows.cluster.checking import Answer, Question, _ask, _judged, versions
from workflows.cluster.worker import WorkerEnvironment
from workflows.profiles.schema import Node

QUESTION = Question(WorkerEnvironment(Path("/project")), "token", ("i3d",), "cuda")
FIT = Answer("node1", 7, versions(), "A100", "token", {"i3d": "5afe"}, 0.0)
SEEN = {"token", "token-node1-7"}
NODE = Node.model_validate({"kind": "node", "workers": 1, "device": "cpu"})


def problems(answer: Answer | Exception, *, clock: float = 0.0, seen: set[str] = SEEN) -> list[str]:
    return _judged("tls://node1:1", (answer, clock), QUESTION, {"i3d": "5afe"}, seen).problems


def test_nothing_is_held_against_a_worker_that_fits() -> None:
    assert problems(FIT, clock=1.0) == []


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (replace(FIT, versions=versions() | {"torch": "1.0"}), "torch is 1.0, here "),
        (replace(FIT, versions=versions() | {"code": "0ther"}), "code is 0ther, here "),
        (replace(FIT, devices="no GPU"), "has no GPU that torch can use"),
        (replace(FIT, **{"token": "cache: No such file"}), "does not see this project's folder (cache: No such file)"),
        (replace(FIT, process=8), "what it writes is not seen here"),
        (replace(FIT, weights={"i3d": "missing (No such file)"}), "weights i3d: missing (No such file)"),
        (replace(FIT, weights={"i3d": "0ther"}), "weights i3d: 0ther, here 5afe"),
        (ModuleNotFoundError("No module named 'workflows'"), "cannot answer: ModuleNotFoundError"),
    ],
)
def test_a_difference_is_told_by_its_name(answer: Answer | Exception, told: str) -> None:
    (problem,) = problems(answer)
    assert problem.startswith(told)


def test_weights_that_are_missing_everywhere_are_missing() -> None:
    nowhere = {"i3d": "missing (No such file)"}
    found = _judged("tls://node1:1", (replace(FIT, weights=nowhere), 0.0), QUESTION, nowhere, SEEN)
    assert found.problems == ["weights i3d: missing (No such file)"]


class Asked:
    """A client whose one worker gives this answer."""

    def __init__(self, answer: Answer | Exception) -> None:
        self.answer = answer

    def wait_for_workers(self, count: int, timeout: float) -> None:
        assert (count, timeout) == (1, NODE.wait)

    def run(self, *_: Any, on_error: str) -> dict[str, Answer | Exception]:
        assert on_error == "return"  # one that cannot answer hides no other
        return {"tls://node1:1": self.answer}


@pytest.mark.parametrize("ahead", [-3600, 0, 3600])
def test_a_clock_that_is_off(ahead: float) -> None:
    ((found, off),) = _ask(Asked(replace(FIT, clock=time.time() + ahead)), QUESTION, NODE).values()
    assert off == pytest.approx(abs(ahead), abs=4)
    assert problems(found, clock=off) == ([f"its clock is off by {off:.0f} s"] if ahead else [])
