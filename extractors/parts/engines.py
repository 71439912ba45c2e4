"""Ways to run a forward pass, (B, ...) -> {name: (B, ...)}: PyTorch as it is, compiled, or exported.

An exported graph is ONNX, as bytes; onnxruntime and OpenVINO both run it. A graph has one shape, so that a row never
depends on how many came with it: on a CPU it takes one row at a time, which costs little there. Where a network is
mostly weights, of which every row alone would read all, the graph takes a batch as it comes, as PyTorch does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from extractors.parts.engine_names import Engine

Forward = Callable[[Tensor], dict[str, Tensor]]
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class ForwardModule(nn.Module):
    """A forward pass and the module it runs, as one module: outputs in the order of `names`, as graphs have them."""

    def __init__(self, network: nn.Module, forward: Forward, names: tuple[str, ...]) -> None:
        super().__init__()
        self.network, self.rows, self.names = network, forward, names

    def forward(self, batch: Tensor) -> tuple[Tensor, ...]:
        found = self.rows(batch)
        return tuple(found[name] for name in self.names)


def compiled(module: ForwardModule, *, rows: Callable[[], int]) -> Forward:
    """By torch itself, which also keeps what it compiled. Freezing makes the weights part of the graph.

    `rows` is asked before every batch: when memory allows fewer than before, torch compiles once more for these.
    """
    run = torch.compile(module, dynamic=False, options={"freezing": True})
    return lambda batch: dict(zip(module.names, by_pieces(run, batch, rows=rows()), strict=True))


def loaded(engine: Engine, graph: bytes, *, names: Sequence[str], rows: int | None) -> Forward:
    """An exported graph that takes `rows` at a time, or any number, and gives outputs in the order of `names`."""
    run = {"onnxruntime": _onnxruntime, "openvino": _openvino}[engine](graph)
    if rows is None:
        return lambda batch: dict(zip(names, run(batch), strict=True))
    return lambda batch: dict(zip(names, by_pieces(run, batch, rows=rows), strict=True))


def by_pieces(run: Callable[[Tensor], Any], batch: Tensor, *, rows: int) -> list[Tensor]:
    """A batch of any size through a graph that takes exactly `rows`: the last piece is filled with its last row."""
    pieces = [run(filled(piece, rows)) for piece in batch.split(rows)]
    return [torch.cat(outputs)[: len(batch)] for outputs in zip(*pieces, strict=True)]


def filled(piece: Tensor, rows: int) -> Tensor:
    return torch.cat([piece, piece[-1:].expand(rows - len(piece), *piece.shape[1:])])


@torch.no_grad()
def export(rows: ForwardModule, *, example: Tensor, any_number: bool = False) -> bytes:
    """The forward pass as ONNX, for batches of the size of `example`, or of any size."""
    sizes = ({0: torch.export.Dim("rows")},) if any_number else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside the exporter
        program = torch.onnx.export(rows, (example,), dynamo=True, verbose=False, dynamic_shapes=sizes)
    if program is None:
        raise RuntimeError("torch.onnx.export gave no program")
    return program.model_proto.SerializeToString()


def _onnxruntime(graph: bytes) -> Callable[[Tensor], list[Tensor]]:
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda batch: [torch.from_numpy(array) for array in session.run(None, {name: batch.contiguous().numpy()})]


def _openvino(graph: bytes) -> Callable[[Tensor], list[Tensor]]:
    import openvino  # type: ignore[import-untyped]

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(graph, b""), "CPU", settings)

    def run(batch: Tensor) -> list[Tensor]:
        found = compiled([batch.contiguous().numpy()])
        return [torch.from_numpy(found[output].copy()) for output in compiled.outputs]  # its buffers are used again

    return run


def in_channels_last(network: nn.Module) -> nn.Module:
    """Kernels of convolutions in the layout that is fastest on CPUs and GPUs; maps follow their kernels."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Conv3d):
            module.to(memory_format=CHANNELS_LAST[module.weight.dim()])
    return network


class ConvBNTracer(TorchDispatchMode):
    """Sees every operation of a forward pass, and so which batch normalisation alone reads a convolution's output."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[Tensor, Tensor]] = []  # (kernel, output) of every convolution; also keeps ids unique
        self.readers: dict[int, list[Any]] = {}  # a tensor's id -> (operation, arguments)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if func.namespace == "prim":  # questions such as "on which device?" read no numbers
            return output
        for tensor in {id(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}:
            self.readers.setdefault(tensor, []).append((func, args))
        if func is torch.ops.aten.convolution.default:
            self.made.append((args[1], output))
        return output

    def pairs(self) -> list[tuple[int, int]]:
        """(id of a convolution's kernel, id of the running mean of the normalisation after it)."""
        found = []
        for kernel, output in self.made:
            operation, args = self.readers.get(id(output), [(None, ())])[0]
            alone = len(self.readers.get(id(output), [])) == 1 and len(self.readers[id(kernel)]) == 1
            if alone and "batch_norm" in str(operation):
                found.append((id(kernel), id(args[3])))
        return found


@torch.no_grad()
def fold_batch_norms(network: nn.Module, pairs: list[tuple[int, int]]) -> None:
    """Normalisation right after a convolution becomes part of the convolution's weights, in place."""
    modules = dict(network.named_modules())
    kernels = {id(each.weight): name for name, each in modules.items() if isinstance(each, CONVOLUTIONS)}
    means = {id(each.running_mean): name for name, each in modules.items() if isinstance(each, NORMS)}
    for kernel, mean in pairs:
        convolution: Any = modules[kernels[kernel]]
        norm: Any = modules[means[mean]]
        folded = fuse_conv_bn_eval(convolution, norm)
        convolution.weight, convolution.bias = folded.weight, folded.bias
        rest = getattr(norm, "act", nn.Identity())  # timm's norms have their activation
        rest._forward_hooks = norm._forward_hooks  # someone may be listening
        network.set_submodule(means[mean], rest)
