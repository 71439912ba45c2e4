"""What residual networks on windows share: a stem, four stages of blocks, the mean of the last one and its classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from torch import Tensor, nn

CLASSES = 400  # of Kinetics
STAGES = ("layer1", "layer2", "layer3", "layer4")
OUTPUTS = (*STAGES, "pool", "logits")


class Residual3d(nn.Module, ABC):
    @abstractmethod
    def stem(self, clips: Tensor) -> Tensor:
        """What comes before the first stage, its pooling included."""

    def add_stages(
        self,
        block: Callable[[int, int, int], nn.Module],
        blocks: Sequence[int],
        *,
        widths: Sequence[int],
        expansion: int,
    ) -> None:
        """`block(inputs, width, stride)` is `expansion` times as wide; each stage but the first halves its maps."""
        inputs = 64
        for name, count, width in zip(STAGES, blocks, widths, strict=True):
            outputs = expansion * width
            rest = (block(outputs, width, 1) for _ in range(count - 1))
            self.add_module(name, nn.Sequential(block(inputs, width, 1 if name == STAGES[0] else 2), *rest))
            inputs = outputs
        self.fc = nn.Linear(inputs, CLASSES)

    def forward(self, clips: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Layer after layer of (B, 3, T, H, W)."""
        clips = self.stem(clips)
        for name in STAGES:
            clips = self.get_submodule(name)(clips)
            yield name, clips
        pooled = clips.mean((2, 3, 4))
        yield "pool", pooled
        yield "logits", self.fc(pooled)
