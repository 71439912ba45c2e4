"""Batches that do not fit into memory are halved; exported graphs are kept by content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from extractors.base import Extractor
from pipeline import sampling
from pipeline.errors import MissingToolError, UsageError
from pipeline.extraction import extractor_of, load_extractor
from pipeline.forwarding import forward
from pipeline.graphs import graph_path, remembered
from pipeline.params import Extract, Sampling


class Cramped(Extractor):
    """Has room for `room` rows; its feature is the number of the frame."""

    takes = "frames"
    preprocessing: dict = {}  # noqa: RUF012 - a test double

    def __init__(self, room: int) -> None:
        self.room, self.asked = room, []
        self.outputs = {"number": ()}

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        return torch.tensor(float(frame))

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        self.asked.append(len(batch))
        if len(batch) > self.room:
            raise torch.OutOfMemoryError("no room")
        return {"number": batch}


def run(extractor: Extractor, *, frames: int) -> np.ndarray:
    rows = sampling.sample(Sampling(every=1), frames=frames, times=np.arange(frames) / 25)
    return forward(extractor, (np.asarray(number) for number in rows.needed), rows=rows)["number"]


@pytest.mark.parametrize("room", [1, 2, 3, 5, 8])
def test_a_batch_that_does_not_fit_is_halved_until_it_does(room: int) -> None:
    extractor = Cramped(room)

    np.testing.assert_array_equal(run(extractor, frames=21), np.arange(21))


def test_what_fitted_is_remembered() -> None:
    extractor = Cramped(room=4)
    run(extractor, frames=8)
    extractor.asked.clear()

    run(extractor, frames=12)

    assert extractor.asked == [4, 4, 4]


def test_one_row_that_does_not_fit_is_said() -> None:
    with pytest.raises(MissingToolError, match="not even one row of 'number' fits"):
        run(Cramped(room=0), frames=2)


def test_a_damaged_graph_is_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    made = []

    def make() -> bytes:
        made.append(1)
        return bytes(range(256)) * 40

    record = {"network": "x", "weights": "y"}
    graphs = [remembered(record, make), remembered(record, make)]
    path = graph_path(record)
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    graphs.append(remembered(record, make))

    assert graphs == [bytes(range(256)) * 40] * 3
    assert len(made) == 2
    assert graph_path({"network": "x", "weights": "z"}) != path


@pytest.mark.parametrize(
    ("missing", "device", "error", "message"),
    [
        (["openvino"], "cpu", MissingToolError, r"needs the package openvino(.|\n)*framescribe\[engines\]"),
        ([], "cuda", UsageError, "the engine 'openvino' runs on the CPU, not on cuda"),
    ],
)
def test_an_engine_that_cannot_run_is_refused(monkeypatch, missing, device, error, message) -> None:
    monkeypatch.setattr("pipeline.extraction.missing_packages", lambda _: missing)
    params = Extract(
        family="frames", network="squeezenet1_1", weights="random", sampling=Sampling(every=1), engine="openvino"
    )
    with pytest.raises(error, match=message):
        extractor_of(params, device=device)


def test_a_second_worker_finds_the_graph_of_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="pip install 'framescribe[engines]'")
    pytest.importorskip("onnxscript", reason="pip install 'framescribe[engines]'")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    facts = {"family": "frames", "network": "squeezenet1_1", "weights": "random", "sampling": Sampling(every=1)}
    batch = torch.randn(1, 3, 224, 224)
    first = extractor_of(Extract(**facts, engine="onnxruntime"), device="cpu")(batch)["pool"]
    assert len(list((tmp_path / "graphs").iterdir())) == 1

    load_extractor.cache_clear()
    monkeypatch.setattr("extractors.engines.export", lambda *_, **__: pytest.fail("exported again"))
    second = extractor_of(Extract(**facts, engine="onnxruntime"), device="cpu")(batch)["pool"]

    assert torch.equal(first, second)
    eager = extractor_of(Extract(**facts), device="cpu")(batch)["pool"]
    torch.testing.assert_close(first, eager, rtol=1e-4, atol=1e-5)
