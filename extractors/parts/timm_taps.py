"""Outputs of a network of timm: what its classifier reads, its last map, its vector beside texts, or any module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts.publishers import is_text_aligned, text_aligned_editions

HEADLINE = ("pool", "grid")


class TimmTaps(nn.Module):
    """`pool` is what the classifier reads, `grid` the last map, `embed` the vector that is compared with texts; others
    are modules by name, wherever in the network they run."""

    def __init__(self, network: str, model: nn.Module, outputs: Sequence[str], *, edition: str) -> None:
        super().__init__()
        self.network, self.model, self.outputs = network, model, tuple(outputs)
        self.headline = (*HEADLINE, *(["embed"] if is_text_aligned(edition) else []))
        self.asked = tuple(name for name in outputs if name not in self.headline)
        self.seen: dict[str, Any] = {}
        modules = dict(model.named_modules())
        for name in self.asked:
            if name not in modules:
                raise self._unknown(name, edition)
            modules[name].register_forward_hook(self._keeper(name))

    def _unknown(self, name: str, edition: str) -> ExtractorError:
        others = text_aligned_editions(edition.partition(".")[0]) if name == "embed" else []
        if others:
            return ExtractorError(
                f"{self.network} has no output 'embed': its edition {edition} was not trained beside texts, "
                f"or has lost that part; name one that was: {', '.join(f'timm:{each}' for each in others)}"
            )
        stages = [stage["module"] for stage in getattr(self.model, "feature_info", [])]
        return UnknownOutputError(self.network, [name], [*self.headline, *stages])

    def _keeper(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        def keep(_module: nn.Module, _inputs: Any, output: Any) -> None:
            self.seen[name] = output

        return keep

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        self.seen.clear()
        found = self._passed(batch)
        missing = [name for name in self.asked if name not in self.seen]
        if missing:
            raise UnknownOutputError(self.network, missing, [*self.headline, *names_that_run(self.model, batch)])
        found |= self.seen
        self.seen.clear()
        return {name: self._tap(name, found[name], rows=len(batch)).contiguous() for name in self.outputs}

    def _passed(self, batch: Tensor) -> dict[str, Any]:
        """The network as far as it is needed: its head only for outputs that no module before it gives."""
        model: Any = self.model
        features = model.forward_features(batch)
        found = {"grid": features}
        if "pool" in self.outputs:
            found["pool"] = model.forward_head(features, pre_logits=True)
        wanted = set(self.outputs) - {"pool", "grid", *self.seen}
        if wanted:
            found["embed"] = model.forward_head(features)
        return found

    def _tap(self, name: str, tensor: Any, *, rows: int) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise ExtractorError(f"'{self.network}' gives several tensors for '{name}'; take another output")
        if name in ("pool", "embed"):
            return tensor
        found = with_channels_last(tensor, self.model)
        if name == "grid" and found.dim() != 4:
            raise ExtractorError(f"'{self.network}' has no map of its picture; its outputs are pool and its modules")
        if found.dim() < 2 or found.shape[0] != rows:
            shape = " x ".join(map(str, tensor.shape))
            raise ExtractorError(f"'{self.network}' has no row per picture in '{name}' ({shape}); take another output")
        return found


def names_that_run(model: Any, batch: Tensor) -> list[str]:
    """Modules down to the second level, in the order in which they first run."""
    called: dict[str, None] = {}
    outer = {name: module for name, module in model.named_modules() if name and name.count(".") < 2}
    hooks = [
        module.register_forward_hook(lambda *_, name=name: called.setdefault(name)) for name, module in outer.items()
    ]
    model.forward_head(model.forward_features(batch))
    for hook in hooks:
        hook.remove()
    return list(called)


def with_channels_last(tensor: Tensor, model: Any) -> Tensor:
    """Maps of whatever layout as (B, H, W, C); tokens are put back where their patches were."""
    if tensor.dim() == 4:
        return tensor if getattr(model, "output_fmt", "NCHW") == "NHWC" else tensor.movedim(1, -1)
    sizes = getattr(getattr(model, "patch_embed", None), "grid_size", None)
    first = getattr(model, "num_prefix_tokens", 0)  # class and register tokens come first
    if tensor.dim() != 3 or sizes is None or tensor.shape[1] != first + sizes[0] * sizes[1]:
        return tensor
    return tensor[:, first:].unflatten(1, tuple(sizes))
