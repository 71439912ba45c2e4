"""Within an epoch: how far, how fast and how long still, at most once a second."""

from __future__ import annotations

import pytest
import torch

from pipeline.captioner import CaptionBatch
from pipeline.core.console import Console
from pipeline.training import epoch_progress
from pipeline.training.epoch_progress import told_within
from pipeline.training.train import few_steps


class Notes:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def advance(self, steps: int = 1, note: str = "") -> None:
        assert steps == 0  # the bar counts epochs
        self.notes.append(note)


def batch_of(captions: int) -> CaptionBatch:
    return CaptionBatch([], torch.zeros(captions), torch.zeros(captions, 3), torch.zeros(captions))


def test_an_epoch_that_goes_on_where_it_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(epoch_progress.time, "monotonic", lambda: now[0])
    notes = Notes()
    seen = []
    for batch in told_within([batch_of(8)] * 6, notes, epoch=3, done=4, steps=10):
        seen.append(batch)
        now[0] += 0.5

    assert len(seen) == 6
    assert notes.notes == [
        "epoch 3: 6/10, 16 captions/s, 0:00:02 left",
        "epoch 3: 8/10, 16 captions/s, 0:00:01 left",
        "epoch 3: 10/10, 16 captions/s, 0:00:00 left",
    ]


def test_a_log_file_gets_a_line_before_the_first_epoch_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Console().progress("train run", 16) as progress:
        monkeypatch.setattr("pipeline.core.console.PLAIN_INTERVAL", 0.0)
        progress.advance(0, note="epoch 1: 40/1018, 120 captions/s, 0:17:55 left")

    assert capsys.readouterr().err == "train run: 0/16 epoch 1: 40/1018, 120 captions/s, 0:17:55 left\n"


def test_a_handful_of_captions_is_warned_of_and_no_more() -> None:
    assert few_steps(1, 16).startswith("16 steps in all (1 an epoch) are too few to learn sentences")
    assert few_steps(20, 16) == ""
