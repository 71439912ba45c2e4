"""A batch cut into parts: who computes them, and what is killed meanwhile, changes no bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given, strategies as st

from models.base import Features, Modality
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.teacher_forcing import make_loss_context
from pipeline.core.errors import InputError, WorkerDiedError
from pipeline.corpus.vocabulary import EOS, PAD
from pipeline.params.train import Train
from pipeline.store import VideoFeatures, open_store, write_store
from pipeline.training.batch_parts import BatchPart, cut_in_parts
from pipeline.training.data_parallel import in_shares
from pipeline.training.history import History
from pipeline.training.setup import prepare, publish_run
from tests.dying import wait_for_the_end
from tests.models.test_captioners import build, every_model, features
from tests.training.test_trainer import SETTINGS, make_project, project  # noqa: F401 - a fixture

PARTS = 4
STAGES = Train.model_validate(
    {
        **SETTINGS.model_dump(),
        "model": "vre",
        "options": {"hidden_size": 16},
        "stage": "joint",
        "parts": PARTS,
        "epochs": 2,
        "own_words": 0.25,
        "then": [{"epochs": 2, "rewards": {"cider": 1.0}, "cross_entropy": 0.5, "own_words": 0.0}],
    }
)
OTHERS = STAGES.model_copy(update={"then": [{**STAGES.then[0], "samples": 3, "baseline": "others"}]})


def train(settings: Train, out: str, *others: str, device: str = "cpu", progress: Any = None) -> tuple[History, bytes]:
    trainer = prepare(settings, captions=Path("data/captions"), max_words=10, device=device, others=others)
    history = trainer.run(progress) if progress else trainer.run()
    publish_run(Path(out), "toy", trainer, history)
    return history, Path(out, "model.safetensors").read_bytes()


class AtEpoch:
    """Does something when so many epochs have passed."""

    def __init__(self, epochs: int, act: Callable[[], None]) -> None:
        self.left, self.act = epochs, act

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.left -= steps if note else 0
        if note and not self.left:
            self.act()


def spawned() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]


def kill_a_child() -> None:
    (child,) = spawned()
    child.kill()
    wait_for_the_end(child.pid)


@pytest.mark.usefixtures("project")
def test_workers_that_die_and_other_devices_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes, of which one is killed; then one on a device with memory of its own goes on."""
    expected = train(STAGES, "runs/alone")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", "other-cache")
    with pytest.raises(WorkerDiedError, match="killed, perhaps for want of memory") as died:
        train(STAGES, "runs/shared", "cpu", progress=AtEpoch(1, kill_a_child))
    assert "run the same command" in died.value.hint
    assert spawned() == []

    assert train(STAGES, "runs/shared", "cpu:1") == expected


@pytest.mark.slow
@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("settings", [STAGES, OTHERS, SETTINGS.model_copy(update={"parts": 3, "epochs": 3})])
def test_any_number_of_workers_gives_the_same_bytes(settings: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    """And devices: `cpu:0` and `cpu:1` stand for such, whose memory is their own."""
    found = []
    for devices in (["cpu"], ["cpu"] * 2, ["cpu"] * 4, ["cpu:0", "cpu:1"], ["cpu:0", "cpu"]):
        monkeypatch.setenv("FRAMESCRIBE_CACHE", f"cache-{len(found)}")
        found.append(train(settings, f"runs/{len(found)}", *devices[1:], device=devices[0]))

    assert found[1:] == found[:1] * 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_killed_at_random_with_workers_that_come_and_go(
    project: Path,  # noqa: F811 - pytest's way
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """kill -9 of the first process at any moment; the others end with it, and what is kept serves any number."""
    expected = train(STAGES, "runs/straight")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(project / "killed-cache"))
    numbers, killed = random.Random(seed), 0
    while not Path("runs/killed/run.json").is_file():
        process = started(numbers.choice([0, 1, 3]))
        for _ in range(numbers.randint(1, 4)):
            wait_for_training(project / "killed-cache", process)
        time.sleep(numbers.uniform(0, 0.05))
        children = psutil.Process(process.pid).children() if process.poll() is None else []
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        for child in children:
            wait_for_the_end(child.pid)

    assert killed >= 2
    assert Path("runs/killed/model.safetensors").read_bytes() == expected[1]


def started(others: int) -> subprocess.Popen[bytes]:
    """Every step is kept, so that the run gets on however soon it is killed."""
    code = (
        "from pathlib import Path\nfrom dataclasses import replace\nfrom tests.training.test_parts import *\n"
        "if __name__ == '__main__':\n"
        f"    where = {{'device': 'cpu', 'others': {others} * ['cpu']}}\n"
        "    trainer = prepare(STAGES, captions=Path('data/captions'), max_words=10, **where)\n"
        "    trainer = replace(trainer, keep_every=0.0)\n"
        "    publish_run(Path('runs/killed'), 'toy', trainer, trainer.run())\n"
    )
    Path("train_parts.py").write_text(code)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen([sys.executable, "train_parts.py"], env=environment)


def wait_for_training(cache: Path, process: subprocess.Popen[bytes]) -> None:
    """Until it has kept one step more."""
    before = kept(cache)
    while process.poll() is None and kept(cache) == before:
        time.sleep(0.01)


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("progress-*.safetensors"))


@pytest.mark.usefixtures("project")
def test_what_goes_wrong_in_another_process_is_told_with_its_step() -> None:
    videos = dict(open_store("features/toy"))
    spoilt = np.array(videos["v9"]["pool"])  # the last name of those that are trained on: in the second part
    spoilt[0, 0] = np.nan
    videos["v9"] = VideoFeatures(tensors={"pool": spoilt}, rows=videos["v9"].rows)
    write_store(Path("features/toy"), videos, fingerprint={"imported": True})

    with pytest.raises(InputError, match=r"epoch 1, step \d \(videos .*'v9': 'pool': 1 of") as caught:
        train(SETTINGS.model_copy(update={"parts": 2, "batch_size": 48}), "runs/toy", "cpu")
    assert caught.value.hint == "framescribe store verify features/toy"


@st.composite
def batches(draw: st.DrawFn) -> CaptionBatch:
    videos = draw(st.integers(1, 9))
    of = [*range(videos), *draw(st.lists(st.integers(0, videos - 1), max_size=9))]
    lengths = draw(st.lists(st.integers(1, 6), min_size=len(of), max_size=len(of)))
    words = torch.tensor([[EOS] * length + [PAD] * (6 - length) for length in lengths])
    return CaptionBatch([f"v{n}" for n in range(videos)], torch.tensor(of), words, torch.arange(len(of)))


@given(batches(), st.integers(1, 6))
def test_every_caption_is_in_one_part_with_all_others_of_its_video(batch: CaptionBatch, count: int) -> None:
    tables = {"reward": torch.arange(len(batch.words)) / 2}
    parts = cut_in_parts(batch, count, tables=tables, seed=(0, 1, 2))

    assert len(parts) <= count
    assert [video for part in parts for video in part.captions.video_ids] == batch.video_ids
    assert sorted(pair for part in parts for pair in part.captions.pairs.tolist()) == batch.pairs.tolist()
    for part in parts:
        assert part.words == int((batch.words != PAD).sum())
        assert torch.equal(part.tables["reward"], part.captions.pairs / 2)
        for row, pair in enumerate(part.captions.pairs.tolist()):
            video = part.captions.video_ids[part.captions.video_of[row]]
            assert video == batch.video_ids[batch.video_of[pair]]
            assert torch.equal(part.captions.words[row], batch.words[pair])


def test_parts_have_about_as_many_words() -> None:
    words = torch.full((100, 5), EOS)
    batch = CaptionBatch([f"v{n}" for n in range(100)], torch.arange(100), words, torch.arange(100))
    parts = cut_in_parts(batch, 3, tables={}, seed=(0,))

    assert [len(part.captions.words) for part in parts] == [33, 34, 33]
    assert len({part.seed for part in parts}) == 3
    assert cut_in_parts(batch, 1, tables={}, seed=(0,))[0].seed is None  # as it always was


@given(st.integers(0, 20), st.integers(1, 6))
def test_shares_are_neighbours_and_the_first_are_larger(items: int, count: int) -> None:
    shares = in_shares(range(items), count)

    assert [item for share in shares for item in share] == list(range(items))
    assert len(shares) == count
    assert sorted(map(len, shares), reverse=True) == [len(share) for share in shares]
    assert len(shares[0]) - len(shares[-1]) <= 1


def rows_of(given: Features, rows: Sequence[int]) -> Features:
    return {name: Modality(each.values[list(rows)], each.mask[list(rows)]) for name, each in given.items()}


@every_model
def test_the_parts_of_a_batch_add_up_to_its_loss_and_its_gradient(name: str) -> None:
    """Without random choices, in every model; and no forward pass changes a buffer, which workers share."""
    model = build(name)
    before = {key: each.clone() for key, each in model.named_buffers()}
    given = features(name, [4, 7, 2, 5])
    words = torch.tensor([[4, 5, 6, EOS], [7, 8, EOS, PAD], [9, EOS, PAD, PAD], [5, EOS, PAD, PAD], [6, 4, 9, EOS]])
    batch = CaptionBatch(["a", "b", "c", "d"], torch.tensor([0, 1, 2, 3, 1]), words, torch.arange(5))

    def gradient(parts: Sequence[BatchPart]) -> tuple[float, list[torch.Tensor | None]]:
        model.zero_grad(set_to_none=True)
        total = 0.0
        for part in parts:
            shown = rows_of(given, ["abcd".index(each) for each in part.captions.video_ids])
            context = make_loss_context(model, shown, part.captions, tables={}, pairs=5, words=part.words)
            loss = model.loss(context)
            loss.backward()
            total += loss.item()
        return total, [each.grad for each in model.parameters()]

    whole = gradient(cut_in_parts(batch, 1, tables={}, seed=(0,)))
    parts = gradient(cut_in_parts(batch, 3, tables={}, seed=(0,)))

    assert parts[0] == pytest.approx(whole[0], rel=1e-4)
    torch.testing.assert_close(parts[1], whole[1], rtol=1e-3, atol=1e-5)
    assert all(torch.equal(each, before[key]) for key, each in model.named_buffers())


def test_one_part_is_not_written_down() -> None:
    """What a run says of itself is as it was; runs from before and after are seeds of one model."""
    assert "parts" not in SETTINGS.model_dump()
    assert STAGES.model_dump()["parts"] == PARTS
    with pytest.raises(ValueError, match="parts"):
        Train.model_validate({**SETTINGS.model_dump(), "parts": 0})
