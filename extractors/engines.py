"""Ways to run the forward pass of one module, (B, ...) -> {name: (B, ...)}: PyTorch as it is, compiled, or exported.

An exported graph is ONNX, as bytes; onnxruntime and OpenVINO both run it. A graph has one shape, so that a row never
depends on how many came with it: on a CPU it takes one row at a time, which costs nothing there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

Engine = Literal["eager", "compile", "onnxruntime", "openvino"]
Outputs = Mapping[str, Tensor]
Run = Callable[[Tensor], Outputs]
# What each needs besides torch; their versions decide bits
PACKAGES: dict[Engine, tuple[str, ...]] = {
    "eager": (),
    "compile": (),
    "onnxruntime": ("onnxruntime", "onnx", "onnxscript"),
    "openvino": ("openvino", "onnx", "onnxscript"),
}
EXPORTED = ("onnxruntime", "openvino")
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def missing_packages(engine: Engine) -> list[str]:
    return [name for name in PACKAGES[engine] if find_spec(name) is None]


def in_channels_last(batch: Tensor) -> Tensor:
    """The layout that CPU and GPU kernels are fastest in; other ranks stay as they are."""
    return batch.contiguous(memory_format=CHANNELS_LAST.get(batch.dim(), torch.contiguous_format))


@torch.no_grad()
def fold_batch_norms(network: nn.Module, *, example: Tensor) -> None:
    """Batch normalisation right after a convolution becomes part of its weights, in place.

    Which follows which is seen by running the network once, so it works for any module; pairs that are met twice, or
    whose convolution has another reader among the modules, are left alone.
    """
    for convolution, norm in _pairs(network, example):
        fused = fuse_conv_bn_eval(convolution, norm)
        convolution.weight, convolution.bias = fused.weight, fused.bias
        norm.forward = nn.Identity().forward if not hasattr(norm, "act") else norm.act.forward  # timm: norm and act


def _pairs(network: nn.Module, example: Tensor) -> list[tuple[Any, Any]]:
    made_by: dict[int, nn.Module] = {}
    readers: dict[int, list[nn.Module]] = {}
    kept: list[Any] = []  # alive, so that no two tensors have the same id

    def saw(module: nn.Module, inputs: Any, output: Any) -> None:
        kept.extend((inputs, output))
        for tensor in inputs:
            readers.setdefault(id(tensor), []).append(module)
        if isinstance(module, nn.Conv2d | nn.Conv3d):
            made_by[id(output)] = module

    leaves = [module for module in network.modules() if not list(module.children()) or isinstance(module, _NORMS)]
    hooks = [module.register_forward_hook(saw) for module in leaves]
    network(example)
    for hook in hooks:
        hook.remove()
    found = [(made_by[key], modules[0]) for key, modules in readers.items() if key in made_by and len(modules) == 1]
    once = [module for pair in found for module in pair]
    return [pair for pair in found if isinstance(pair[1], _NORMS) and all(once.count(each) == 1 for each in pair)]


def start(engine: Engine, network: nn.Module, *, example: Tensor, graph: bytes | None = None) -> Run:
    """A callable with the network's outputs. `example` is a batch of the only size that an engine's graph takes;
    `graph` is what `export` gave for it, if that is already known."""
    if engine == "eager":
        return network
    names = tuple(network(example))
    if engine == "compile":
        # Freezing folds the weights into the graph; torch keeps what it compiled on disk by itself
        return by_pieces(torch.compile(network, dynamic=False, options={"freezing": True}), rows=len(example))
    runtime = {"onnxruntime": _onnxruntime, "openvino": _openvino}[engine]
    run = runtime(graph or export(network, example=example))
    return by_pieces(lambda batch: dict(zip(names, run(batch), strict=True)), rows=len(example))


def by_pieces(run: Run, *, rows: int) -> Run:
    """Batches of any size through a graph that takes exactly `rows`: the last piece is filled with its last row."""

    def run_all(batch: Tensor) -> Outputs:
        pieces = [run(filled(piece, rows)) for piece in batch.split(rows)]
        return {name: torch.cat([piece[name] for piece in pieces])[: len(batch)] for name in pieces[0]}

    return run_all


def filled(piece: Tensor, rows: int) -> Tensor:
    return torch.cat([piece, piece[-1:].expand(rows - len(piece), *piece.shape[1:])])


class _InOrder(nn.Module):
    """Graphs have their outputs in an order, not by name."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.network(batch).values())


@torch.no_grad()
def export(network: nn.Module, *, example: Tensor) -> bytes:
    """The network as ONNX, for batches like `example`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own deprecations
        program = torch.onnx.export(_InOrder(network), (example.clone(),), dynamo=True, verbose=False)
    if program is None:
        raise RuntimeError("torch.onnx.export gave no program")
    return program.model_proto.SerializeToString()


def _onnxruntime(graph: bytes) -> Callable[[Tensor], list[Tensor]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda batch: [torch.from_numpy(array) for array in session.run(None, {name: batch.contiguous().numpy()})]


def _openvino(graph: bytes) -> Callable[[Tensor], list[Tensor]]:
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(graph, b""), "CPU", settings)

    def run(batch: Tensor) -> list[Tensor]:
        found = compiled([batch.contiguous().numpy()])
        return [torch.from_numpy(found[output].copy()) for output in compiled.outputs]  # its buffers are reused

    return run
