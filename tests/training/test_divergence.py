"""Training stops at the first number that is none, names the place, and keeps what was good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.core.errors import InputError
from pipeline.params.train import Train
from pipeline.store import VideoFeatures, open_store, write_store
from pipeline.training.setup import prepare
from pipeline.training.trainer import Trainer
from tests.training.test_trainer import SETTINGS, make_project


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def trainer(settings: Train = SETTINGS) -> Trainer:
    return prepare(settings, captions=Path("data/captions"), max_words=10, device="cpu")


def spoil(video_id: str, value: float = np.nan) -> None:
    """One number of an imported store, as another program left it."""
    store = open_store("features/toy")
    videos = {
        id_: VideoFeatures(tensors={"pool": np.array(video["pool"])}, rows=video.rows) for id_, video in store.items()
    }
    videos[video_id].tensors["pool"][1, 2] = value  # type: ignore[index]
    write_store(Path("features/toy"), videos, fingerprint={"imported": True, "weights": "unknown"})


@pytest.mark.parametrize("video_id", ["v3", "v25"])  # of the training and of the validation videos
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_store_with_one_number_that_is_none_is_named(video_id: str, value: float) -> None:
    spoil(video_id, value)

    with pytest.raises(InputError, match=rf"'{video_id}': 'pool': 1 of \d+ numbers are NaN or infinite") as caught:
        trainer().run()
    assert f"first in row 1 ({value})" in caught.value.message
    assert caught.value.hint == "framescribe store verify features/toy"


def progress_of(run: Trainer) -> dict:
    return json.loads((run.folder / "progress.json").read_text())


def lose_at(run: Trainer, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of this one step is no number."""
    counted = iter(range(1, 10**6))
    loss = run.model.loss

    def changed(context: object) -> torch.Tensor:
        found = loss(context)  # type: ignore[arg-type]
        return found * torch.nan if next(counted) == calls else found

    monkeypatch.setattr(run.model, "loss", changed)


def test_it_stops_at_the_first_loss_and_resumes_from_the_last_good_state(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 3  # 48 captions in batches of 16
    run = trainer()
    lose_at(run, 2 * steps + 2, monkeypatch)
    with pytest.raises(InputError, match=r"epoch 3, step 2 \(videos v\d+, v\d+.*\): the loss is nan") as caught:
        run.run()

    assert "learning_rate" in caught.value.hint
    assert progress_of(run)["epoch"] == 2
    assert all(tensor.isfinite().all() for tensor in run.model.state_dict().values())
    resumed = trainer().run()
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "other-cache")
    assert resumed == trainer().run()  # as if it had never stopped


def test_half_an_epoch_is_kept_only_while_the_weights_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trainer()
    object.__setattr__(run, "keep_every", 0.0)
    lose_at(run, 3, monkeypatch)
    with pytest.raises(InputError, match=r"epoch 1, step 3"):
        run.run()

    assert progress_of(run)["part"]["steps"] == 2


@pytest.mark.parametrize(
    "changes",
    [{}, {"own_words": 1.0}, {"rewards": {"cider": 1.0}}, {"rewards": {"cider": 1.0}, "cross_entropy": 0.0}],
    ids=["cross-entropy", "own words", "self-critical", "rewards alone"],
)
@pytest.mark.parametrize("batch_size", [16, 64])  # several steps an epoch, and one
def test_a_step_that_is_far_too_long_is_told_and_nothing_of_it_is_kept(
    changes: dict[str, Any], batch_size: int
) -> None:
    """Weights overflow in the optimizer, after a loss that was a number."""
    far = {"optimizer": "sgd", "learning_rate": 1e39, "batch_size": batch_size}
    run = trainer(SETTINGS.model_copy(update=far | changes))

    with pytest.raises(InputError, match=r"epoch 1, step \d.*(the loss is nan|weights became NaN)"):
        run.run()
    assert not run.folder.exists()
