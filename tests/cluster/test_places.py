"""Several tasks in flight in one worker of one thread, and who is to blame when it is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.cluster.conftest import Workers, journal
from tests.cluster.tasks import Meeting
from workflows.cluster import places
from workflows.cluster.places import PlaceRule, TaskPlaces, place_rule
from workflows.profiles.schema import Existing, Node, Queue, Ssh


def test_a_task_that_is_to_be_alone_waits_for_an_empty_worker() -> None:
    those = TaskPlaces()
    with those.taken(alone=False) as first, those.taken(alone=False) as second:
        assert first
        assert second
        assert (those.left(2), those.left(3)) == (False, True)
        with those.taken(alone=True) as third:
            assert not third
    with those.taken(alone=True) as again:
        assert again
        assert not those.left(1)


LOOPBACK = {"host": "127.0.0.1"}


@pytest.mark.parametrize(
    ("profile", "count"),
    [
        (Node(kind="node", workers=1, device="cpu"), 10),
        (Node(kind="node", workers=4, device="cpu"), 4),
        (Node(kind="node", workers="cores", device="cpu"), 1),
        (Node(kind="node", workers="cores", device="cpu", videos_in_flight=2), 2),
        (Queue(kind="queue", workers=3, cpus=4, memory="8 GiB", device="cuda", **LOOPBACK), 6),
        (Ssh(kind="ssh", hosts=["a", "b"], workers_per_host=2, device="cuda", **LOOPBACK), 6),
        (Existing(kind="scheduler", address="tcp://127.0.0.1:1", device="cuda"), 10),
        (Existing(kind="scheduler", address="tcp://127.0.0.1:1", device="cuda", videos_in_flight=1), 1),
    ],
)
def test_places_follow_from_the_cores_that_a_worker_has(profile: Any, count: int) -> None:
    with patch.object(places, "cores", lambda: 8), patch("workflows.cluster.start.cores", lambda: 8):
        assert place_rule(profile).count() == count


def test_a_worker_that_is_bound_to_few_cores_has_few_places() -> None:
    with patch.object(places, "cores", lambda: 2):
        assert PlaceRule(most_cores=16).count() == 4


def test_innocents_in_flight_beside_poison_are_done(workers: Workers, tmp_path: Path) -> None:
    """All are in flight when the worker is lost; then each is alone, and one attempt is left to show who did it."""
    good = [f"good{number}" for number in range(8)]
    items = ["meets1", "meets2", *good[:2], "dies", *good[2:]]
    executor = workers(1, attempts=2, videos_per_task=1, videos_in_flight=3)

    results = list(executor.map(Meeting(seconds=0.05, folder=tmp_path), items))

    told = "dies: it took its worker down, or needed more than time_limit, 2 times"
    assert sorted(results) == sorted([*(item.upper() for item in items if item != "dies"), told])
    lost = [event for event in journal(tmp_path) if event["event"] == "lost"]
    assert {name for event in lost if event["tries"] == 1 for name in event["items"]} > {"dies"}
    assert [event["items"] for event in lost if event["tries"] == 2] == [["dies"]]
