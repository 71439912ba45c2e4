"""Runs scored by workers of a cluster: the numbers of one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.executors import HERE
from pipeline.evaluation import run_scores
from pipeline.metrics.java import VARIABLE
from tests.cluster.conftest import Workers, journal
from tests.metrics.test_scoring import SAID, make_predictions, scored


@pytest.mark.slow
def test_runs_scored_by_workers_have_the_numbers_of_one_process(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    make_predictions(tmp_path, meteor=False)
    here = scored(HERE, list(SAID))
    monkeypatch.setattr(run_scores, "WORTH", 1)

    assert scored(workers(2), list(SAID)) == here

    done = [event["item"] for event in journal(tmp_path) if event["event"] == "done"]
    assert sorted(done) == ["lstm", "other"]  # the first of each group
