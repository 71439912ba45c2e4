"""dualAFR (Pu et al., "Adaptive feature abstraction for translating video to text"): each word chooses place and layer.

Equation numbers are the paper's. Baselines: `layers: ""` is C3D fc7; `layers: pool3` is fc7 + pool3; `align` chooses
among the multi-level features (conv is the paper's own, then mlp, max, average, hypercolumn).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from models.base import CHOICE, Captioner, Features, Input, LossContext, State, Step
from models.parts.alignment import HIGHEST, KINDS, LEVELS, make_alignment
from models.parts.layers import AdditiveAttention, masked_mean
from models.parts.multi_sample import multi_sample_loss


class DualAfr(Captioner):
    inputs: ClassVar = {name: Input("motion", name, optional=True, axes=(3, 4)) for name in LEVELS} | {
        "fc7": Input("appearance", "fc7")
    }
    attention_inputs: ClassVar = {"place": HIGHEST}

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 300,
        hidden_size: int = 512,
        attention_size: int = 512,
        dropout: float = 0.5,
        layers: str = "pool2 pool3 pool4 pool5",
        align: Literal["conv", "mlp", "max", "average", "hypercolumn"] = "conv",
        hard: bool = False,
        samples: int = 10,
    ) -> None:
        super().__init__()
        self.layers = _layers(layers, sizes)
        _check(align=align, hard=hard, samples=samples)
        self.hard, self.copies = hard, samples if hard else 1
        width = sizes[HIGHEST] if self.layers else 0
        self.align = nn.ModuleDict(
            {name: make_alignment(align, name, channels=sizes[name], width=width) for name in self.layers}
        )
        stacked = width * len(self.layers)
        self.place = AdditiveAttention(query=hidden_size, memory=stacked, width=attention_size) if self.layers else None
        # One layer leaves no choice of layers: z = s.
        several = len(self.layers) > 1
        self.layer = AdditiveAttention(query=hidden_size, memory=width, width=attention_size) if several else None
        self.start = nn.Linear(sizes["fc7"], hidden_size)
        self.embed = nn.Embedding(vocabulary, word_size, padding_idx=0)
        self.cell = nn.LSTMCell(word_size + width, hidden_size)
        self.read = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden_size, vocabulary))

    def columns(self) -> Mapping[str, Sequence[str]]:
        return {"layer": self.layers}

    def encode(self, features: Features) -> State:
        hidden = torch.tanh(self.start(masked_mean(*features["fc7"])))  # (B, H), the paper's h_1
        state = {"hidden": hidden, "cell": torch.zeros_like(hidden), "begun": torch.zeros_like(hidden[:, :1])}
        if self.place is None:
            return state
        aligned = torch.stack([self.align[name](features[name]) for name in self.layers], 1)  # (B, L, D, R, h, w)
        places = aligned.flatten(3).permute(0, 3, 1, 2)  # (B, P, L, D)
        rows = features[self.layers[0]].mask  # (B, R)
        mask = rows.repeat_interleave(places.shape[1] // rows.shape[1], 1)  # (B, P)
        return state | {"places": places, "keys": self.place.keys(places.flatten(2)), "mask": mask}

    def step(self, state: State, words: Tensor) -> Step:
        """The first word is read from h_1 itself; only then does the LSTM begin."""
        begun = state["begun"]  # (B, 1)
        context, attention, log_choice = self._look(state)
        given = torch.cat([self.embed(words), *context], 1)
        hidden, cell = self.cell(given, (state["hidden"], state["cell"]))
        hidden = torch.where(begun.bool(), hidden, state["hidden"])
        moved = {"hidden": hidden, "cell": cell * begun, "begun": torch.ones_like(begun)}
        seen = {name: weights * begun for name, weights in attention.items()}
        return Step(state | moved, hidden, seen, {CHOICE: log_choice * begun.squeeze(1)} if self.hard else {})

    def logits(self, output: Tensor) -> Tensor:
        return self.read(output)

    def loss(self, context: LossContext) -> Tensor:
        if not self.hard:
            return super().loss(context)
        read = context.score(context.state)
        losses = multi_sample_loss(-read.nll.view(-1, self.copies), read.terms[CHOICE].view(-1, self.copies))
        return losses.sum() * self.copies / read.words

    def _look(self, state: State) -> tuple[list[Tensor], dict[str, Tensor], Tensor]:
        """Context (nothing, or (B, D)), the attention weights, and log p of what was drawn (B,)."""
        hidden = state["hidden"]
        log_choice = torch.zeros_like(hidden[:, 0])
        if self.place is None:
            return [], {}, log_choice
        weights = self.place(hidden, state["keys"], state["mask"])  # (B, P): Eqs. 4 and 5
        attention = {"place": weights}
        weights, chance = self._draw(weights)
        looked, log_choice = torch.einsum("bp,bpld->bld", weights, state["places"]), log_choice + chance
        if self.layer is None:
            return [looked.squeeze(1)], attention, log_choice
        every = torch.ones_like(looked[..., 0], dtype=torch.bool)
        weights = attention["layer"] = self.layer(hidden, self.layer.keys(looked), every)  # (B, L): Eqs. 6 and 7
        weights, chance = self._draw(weights)
        return [torch.einsum("bl,bld->bd", weights, looked)], attention, log_choice + chance  # Eqs. 8 and 9

    def _draw(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Soft: the weights. Hard: one entry, drawn in training, else the likeliest, and its log probability."""
        if not self.hard:
            return weights, torch.zeros_like(weights[:, 0])
        chosen = torch.multinomial(weights.detach(), 1) if self.training else weights.argmax(1, keepdim=True)  # (B, 1)
        one_hot = torch.zeros_like(weights).scatter(1, chosen, 1.0)
        return one_hot, weights.gather(1, chosen).squeeze(1).log()


def _layers(text: str, sizes: dict[str, int]) -> list[str]:
    names = text.split()
    unknown = [name for name in names if name not in LEVELS]
    if unknown:
        raise ValueError(f"layers has {', '.join(unknown)}, allowed: {' '.join(LEVELS)}")
    missing = [name for name in names if name not in sizes]
    if missing:
        raise ValueError(f"layers {' '.join(missing)} need a store in features.motion; fc7 alone is layers ''")
    if names and HIGHEST not in sizes:
        raise ValueError(f"the layers are aligned with {HIGHEST}, which the run leaves out (tensors)")
    return names


def _check(*, align: str, hard: bool, samples: int) -> None:
    if align not in KINDS:
        raise ValueError(f"align is '{align}', allowed: {', '.join(KINDS)}")
    if hard and samples < 2:
        raise ValueError(f"samples is {samples}, allowed: 2 or more: the others are its baseline")


build = DualAfr
