"""Batches are prepared ahead, and halved where they do not fit into memory; exported graphs are kept by content."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from extractors.base import Extractor
from pipeline.cache.feature_cache import graph_path
from pipeline.cache.graph_cache import remembered
from pipeline.core.errors import MissingToolError, UsageError
from pipeline.core.hashing import record_sha256
from pipeline.extraction import sampling
from pipeline.extraction.build_extractor import extractor_of, load_extractor
from pipeline.extraction.fingerprint import BATCH, fingerprint
from pipeline.extraction.forward_pass import forward, forward_all
from pipeline.params.extract import Extract, Sampling

SQUEEZENET = {"family": "frames", "network": "squeezenet1_1", "weights": "random", "sampling": Sampling(every=1)}


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


class Noted(Extractor):
    """Windows of frames; its feature is their mean. One frame, told by its brightest pixel, cannot be prepared."""

    takes = "clips"
    preprocessing: dict = {}  # noqa: RUF012 - a test double

    def __init__(self, *, bad: int = -1) -> None:
        self.bad = bad
        self.threads: set[str] = set()
        self.outputs = {"mean": (3,)}

    def prepare(self, frame: np.ndarray) -> torch.Tensor:
        self.threads.add(threading.current_thread().name)
        if frame.max() == self.bad:
            raise ValueError(f"frame {self.bad} cannot be prepared") from OverflowError("the cause")
        return torch.from_numpy(frame).float().sin()

    def __call__(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"mean": batch.mean((1, 2, 3))}


WINDOWS = Sampling(window=8, stride=5, tail="pad")


def pictures(rows: sampling.SampledRows) -> Iterator[np.ndarray]:
    for number in rows.needed.tolist():
        picture = np.random.default_rng(number).integers(0, 100, (4, 5, 3), np.uint8)
        picture[0, 0, 0] = 100 + number
        yield picture


def threads_ahead() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize("frames", [1, 2, 15, 16, 17, 100])
def test_preparing_ahead_changes_no_byte(frames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sampling.sample(WINDOWS, frames=frames, times=np.arange(frames) / 25)
    extractors = [Noted(), Noted()]
    found = forward_all(extractors, pictures(rows), rows=rows)

    monkeypatch.setattr("pipeline.extraction.forward_pass.prefetch", lambda items: items)
    expected = forward_all(extractors, pictures(rows), rows=rows)

    assert [each["mean"].tobytes() for each in found] == [each["mean"].tobytes() for each in expected]
    assert extractors[0].threads == {"prefetch", threading.current_thread().name}
    assert found[0]["mean"].shape == (len(rows), 3)


def test_an_error_in_preparing_comes_with_its_cause_and_leaves_no_thread() -> None:
    rows = sampling.sample(WINDOWS, frames=30, times=np.arange(30) / 25)

    with pytest.raises(ValueError, match="frame 113 cannot be prepared") as raised:
        forward(Noted(bad=113), pictures(rows), rows=rows)

    assert isinstance(raised.value.__cause__, OverflowError)
    assert not threads_ahead()


def test_a_network_that_fails_stops_the_preparing() -> None:
    rows = sampling.sample(Sampling(every=1), frames=100, times=np.arange(100) / 25)
    given: list[int] = []

    def frames() -> Iterator[np.ndarray]:
        for number in range(100):
            given.append(number)
            yield np.asarray(number)

    with pytest.raises(MissingToolError):
        forward(Cramped(room=0), frames(), rows=rows)

    assert len(given) <= 3 * BATCH
    assert not threads_ahead()


def test_a_damaged_graph_is_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    made = []

    def make() -> bytes:
        made.append(1)
        return bytes(range(256)) * 40

    record = {"network": "x", "weights": "y"}
    graphs = [remembered(record, make), remembered(record, make)]
    path = graph_path(record_sha256(record))
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    graphs.append(remembered(record, make))

    assert graphs == [bytes(range(256)) * 40] * 3
    assert len(made) == 2
    assert graph_path(record_sha256({"network": "x", "weights": "z"})) != path


@pytest.mark.parametrize(
    ("missing", "device", "error", "message"),
    [
        (["openvino"], "cpu", MissingToolError, r"needs the package openvino(.|\n)*framescribe\[engines\]"),
        ([], "cuda", UsageError, "the engine 'openvino' runs on the CPU, not on cuda"),
        ([], "half", UsageError, "the engine 'openvino' computes in float32, not in bfloat16"),
    ],
)
def test_an_engine_that_cannot_run_is_refused(monkeypatch, missing, device, error, message) -> None:
    monkeypatch.setattr("pipeline.extraction.engine_choice.missing_packages", lambda _: missing)
    params = Extract(**SQUEEZENET, engine="openvino", precision="bfloat16" if device == "half" else "float32")
    with pytest.raises(error, match=message):
        extractor_of(params, device=device.replace("half", "cpu"))


def test_half_precision_is_asked_for_and_stays_within_a_bound() -> None:
    batch = torch.randn(2, 3, 224, 224)
    exact = extractor_of(Extract(**SQUEEZENET), device="cpu")(batch)["pool"]
    half = extractor_of(Extract(**SQUEEZENET, precision="bfloat16"), device="cpu")(batch)["pool"].float()

    assert 1e-6 < (half - exact).abs().max() / exact.abs().max() < 0.03


def test_half_precision_is_for_families_of_one_network() -> None:
    facts = {"family": "flow", "network": "spynet", "weights": "random", "outputs": ["flow"]}
    with pytest.raises(UsageError, match=r"'flow' runs on the engine eager only, in float32"):
        extractor_of(Extract(**facts, sampling=Sampling(every=1), precision="bfloat16"), device="cpu")


def test_convolutions_of_a_gpu_are_not_rounded_to_tf32() -> None:
    torch.backends.cudnn.allow_tf32 = True
    load_extractor.cache_clear()
    extractor_of(Extract(**SQUEEZENET), device="cpu")

    assert not torch.backends.cudnn.allow_tf32
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_engine_precision_and_resize_are_always_part_of_the_fingerprint(device: str) -> None:
    def told(**changes: str) -> list[str]:
        record = fingerprint(Extract(**SQUEEZENET, **changes), weights="w", preprocessing={}, code=1, device=device)
        return [record["extractor"][name] for name in ("engine", "precision", "resize")]

    assert told() == ["eager", "float32", "published"]
    assert told(engine="compile", precision="bfloat16", resize="pil") == ["compile", "bfloat16", "pil"]


def test_a_second_worker_finds_the_graph_of_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="pip install 'framescribe[engines]'")
    pytest.importorskip("onnxscript", reason="pip install 'framescribe[engines]'")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))
    batch = torch.randn(1, 3, 224, 224)
    first = extractor_of(Extract(**SQUEEZENET, engine="onnxruntime"), device="cpu")(batch)["pool"]
    assert len(list((tmp_path / "graphs").iterdir())) == 1

    load_extractor.cache_clear()
    monkeypatch.setattr("extractors.parts.engines.export", lambda *_, **__: pytest.fail("exported again"))
    second = extractor_of(Extract(**SQUEEZENET, engine="onnxruntime"), device="cpu")(batch)["pool"]

    assert torch.equal(first, second)
    eager = extractor_of(Extract(**SQUEEZENET), device="cpu")(batch)["pool"]
    torch.testing.assert_close(first, eager, rtol=1e-4, atol=1e-5)
