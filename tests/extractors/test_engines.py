"""Engines run the same forward pass: within a bound of PyTorch's own, a row at a time, and with batch norms folded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from extractors.parts import engine_names, engines
from extractors.parts.network import NetworkExtractor
from pipeline.extraction.forward_pass import forward_batch

BOUND = 1e-4  # relative to the largest value
SHAPES = {"2D": (3, 32, 32), "3D": (3, 4, 16, 16)}


class Small(nn.Module):
    """What real networks are made of: folded and unfolded norms, a shortcut, pooling."""

    def __init__(self, conv: type[nn.Module], norm: type[nn.Module], pool: type[nn.Module]) -> None:
        super().__init__()
        self.first, self.first_norm = conv(3, 8, 3, padding=1, bias=False), norm(8, eps=1e-3)
        self.second, self.second_norm = conv(8, 8, 3, padding=1, groups=4), norm(8)
        self.seen_twice, self.last_norm = conv(8, 8, 1), norm(8)
        self.pool = pool(2)

    def forward(self, pictures: Tensor) -> Tensor:
        one = torch.relu(self.first_norm(self.first(pictures)))
        two = self.pool(torch.relu(self.second_norm(self.second(one)) + one))
        three = self.seen_twice(two)
        return self.last_norm(three) + three  # this norm is not the only reader, so it must not be folded


def small(kind: str) -> Small:
    torch.manual_seed(0)
    layers = (nn.Conv2d, nn.BatchNorm2d, nn.MaxPool2d) if kind == "2D" else (nn.Conv3d, nn.BatchNorm3d, nn.MaxPool3d)
    network = Small(*layers)
    for module in network.modules():
        if isinstance(module, engines.NORMS):
            nn.init.uniform_(module.running_mean, -1, 1)
            nn.init.uniform_(module.running_var, 0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 2)
    return network


class Taps(NetworkExtractor):
    takes = "frames"
    preprocessing: dict = {}  # noqa: RUF012 - a test double

    def __init__(self, network: nn.Module, row: Sequence[int]) -> None:
        self.prepare_for_inference(network, row=row, device="cpu")

    def prepare(self, frame: np.ndarray) -> Tensor:
        return torch.from_numpy(frame)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        maps = self.network(batch)
        return {"pool": maps.flatten(2).mean(2), "grid": maps.movedim(1, -1).contiguous()}


def largest_difference(found: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    return max(float((found[name] - rows).abs().max() / rows.abs().max()) for name, rows in expected.items())


@pytest.mark.parametrize("kind", SHAPES)
def test_folded_norms_change_nothing_but_the_last_digits(kind: str) -> None:
    plain = small(kind).eval()
    extractor = Taps(small(kind), SHAPES[kind])
    batch = torch.randn(3, *SHAPES[kind])

    left = [module for module in extractor.network.modules() if isinstance(module, engines.NORMS)]
    with torch.inference_mode():
        expected = plain(batch).movedim(1, -1)
    assert left == [extractor.network.last_norm]
    assert largest_difference(extractor(batch), {"grid": expected}) < 1e-5


class OnTheGpu:
    """What flow networks leave on a GPU: it cannot be pinned, and is there already."""

    def __init__(self, batch: Tensor) -> None:
        self.batch = batch

    def pin_memory(self) -> Tensor:
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")

    def to(self, device: torch.device, **_: bool) -> Tensor:
        assert device.type == "cuda"
        return self.batch


def test_a_batch_that_is_on_the_gpu_already_is_taken_as_it_is() -> None:
    extractor = Taps(small("2D"), SHAPES["2D"])
    batch = torch.randn(2, *SHAPES["2D"])
    expected = extractor(batch)
    extractor.device = torch.device("cuda")

    found = extractor(OnTheGpu(batch))

    assert torch.equal(found["pool"], expected["pool"])


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("engine", [pytest.param("compile", marks=pytest.mark.slow), "onnxruntime", "openvino"])
def test_every_engine_stays_within_the_bound(engine: engine_names.Engine, kind: str) -> None:
    missing = engine_names.missing_packages(engine)
    if missing:
        pytest.skip(f"{missing[0]} is not installed: pip install 'framescribe[engines]'")
    torch.set_num_threads(1)
    extractor = Taps(small(kind), SHAPES[kind])
    batch = torch.randn(3, *SHAPES[kind])
    expected = extractor(batch)

    extractor.use(engine)
    found = extractor(batch)

    assert {name: rows.shape for name, rows in found.items()} == {name: rows.shape for name, rows in expected.items()}
    assert largest_difference(found, expected) < BOUND
    assert torch.equal(extractor(batch[1:2])["grid"], found["grid"][1:2])  # a row does not depend on its neighbours


def test_a_graph_is_exported_once_where_it_is_remembered() -> None:
    pytest.importorskip("onnxruntime", reason="pip install 'framescribe[engines]'")
    pytest.importorskip("onnxscript", reason="pip install 'framescribe[engines]'")
    kept: list[bytes] = []

    def remember(make) -> bytes:
        if not kept:
            kept.append(make())
        return kept[0]

    batch = torch.randn(2, *SHAPES["2D"])
    first, second = Taps(small("2D"), SHAPES["2D"]), Taps(small("2D"), SHAPES["2D"])
    first.use("onnxruntime", remember=remember)
    expected = first(batch)["grid"]
    assert len(kept) == 1

    second.network = nn.Identity()  # so that only the remembered graph can answer
    second.use("onnxruntime", remember=remember)
    assert torch.equal(second(batch)["grid"], expected)


@pytest.mark.parametrize("room", [1, 3, 5, 8])
def test_a_compiled_network_gets_smaller_pieces_when_memory_is_short(monkeypatch, room: int) -> None:
    """Pieces are filled to one size: without a smaller one, half a batch would be as large as before."""
    sizes = []

    def stand_in(module: nn.Module, **_: object):
        def run(piece: Tensor) -> tuple[Tensor, ...]:
            sizes.append(len(piece))
            if len(piece) > room:
                raise torch.OutOfMemoryError("no room")
            return module(piece)

        return run

    monkeypatch.setattr(torch, "compile", stand_in)
    extractor, batch = Taps(small("2D"), SHAPES["2D"]), torch.randn(19, *SHAPES["2D"])
    expected = extractor(batch)
    extractor.use("compile", rows=8)

    found = {name: torch.from_numpy(rows) for name, rows in forward_batch(extractor, batch).items()}

    assert largest_difference(found, expected) < BOUND
    assert room == 8 or sizes[-1] <= room < 8 == sizes[0]


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_pieces_have_one_size_and_nothing_of_the_filling_comes_out(count: int) -> None:
    sizes = []

    def run(piece: Tensor) -> list[Tensor]:
        sizes.append(len(piece))
        return [piece * 2, piece.sum(1)]

    batch = torch.arange(2.0 * count).view(count, 2)
    double, total = engines.by_pieces(run, batch, rows=4)

    assert set(sizes) == {4}
    assert torch.equal(double, batch * 2)
    assert torch.equal(total, batch.sum(1))
