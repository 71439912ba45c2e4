"""Global2Local (Dai et al.): where to look in time decides in which frames to look at regions.

Equation numbers are the paper's. Ablations: `align: false, key_frames: 0` is Global base; `key_frames: 0` is
+ Alignment; `key_frames: K` is + Local K; `sampler: argmax` is without Gumbel.
"""

from __future__ import annotations

from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from models.base import Captioner, Features, Input, Modality, State, Step, require_positive
from models.parts.gumbel import gumbel_top_k, top_k
from models.parts.layers import BilinearAttention, as_regions, real_regions, side_by_side

GROUP = 3  # frames that share one frame with regions: every 15th of the video, where appearance has every 5th
SAMPLERS = ("gumbel", "straight_through", "argmax")
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}  # s of Eqs. 1 and 7, which the paper leaves open


class G2l(Captioner):
    inputs: ClassVar = {
        "appearance": Input("appearance", "pool"),
        "motion": Input("motion", "pool", optional=True),
        "regions": Input("regions", "features", optional=True, axes=(2, 3, 4)),
    }
    attention_inputs: ClassVar = {"time": "appearance", "region": "regions", "frame": "regions"}

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 300,
        hidden_size: int = 768,
        visual_size: int = 1024,
        aligned_size: int = 512,
        attention_size: int = 384,
        dropout: float = 0.5,
        align: bool = True,
        key_frames: int = 2,
        sampler: Literal["gumbel", "straight_through", "argmax"] = "gumbel",
        temperature: float = 1e-4,
        backward_temperature: float = 1.0,
        activation: Literal["relu", "tanh"] = "relu",
    ) -> None:
        super().__init__()
        _check(sizes, align=align, key_frames=key_frames, sampler=sampler, activation=activation)
        require_positive(temperature=temperature, backward_temperature=backward_temperature)
        squash = ACTIVATIONS[activation]
        self.key_frames = key_frames if "regions" in sizes else 0
        self.sampler, self.temperature, self.backward_temperature = sampler, temperature, backward_temperature
        self.views: list[str] = [name for name in ("appearance", "motion") if name in sizes]
        memories: dict[str, int] = dict.fromkeys(self.views, visual_size)
        if align:
            memories["aligned"] = visual_size * len(self.views)
        if self.key_frames:
            memories["regions"] = visual_size
        self.project = nn.ModuleDict(
            {
                name: nn.Sequential(nn.Linear(sizes[name], visual_size), squash(), nn.Dropout(dropout))
                for name in memories
                if name != "aligned"
            }
        )
        self.attend = nn.ModuleDict(
            {
                name: BilinearAttention(query=hidden_size, memory=size, width=attention_size)
                for name, size in memories.items()
            }
        )
        self.compact = nn.Sequential(nn.Linear(memories["aligned"], aligned_size), squash()) if align else None
        seen = visual_size * (len(memories) - align) + aligned_size * align
        self.embed = nn.Embedding(vocabulary, word_size, padding_idx=0)
        self.lower = nn.GRUCell(seen + word_size, hidden_size)
        self.upper = nn.GRUCell(hidden_size, hidden_size)
        self.drop = nn.Dropout(dropout)
        self.read = nn.Linear(hidden_size, vocabulary)

    def encode(self, features: Features) -> State:
        views = {name: Modality(self.project[name](features[name].values), features[name].mask) for name in self.views}
        state: State = {name: part.values for name, part in views.items()}  # (B, L, V) each: f' and v' of Eq. 1
        for name, part in views.items():
            state |= self._memory(name, part.values, part.mask)
        if self.compact is not None:
            state |= self._memory("aligned", *side_by_side([*views.values()]))
        if self.key_frames:
            state |= self._regions(as_regions(features["regions"]), frames=state["aligned mask"])
        rest = torch.zeros_like(state["appearance"][:, 0, :1]).expand(-1, self.upper.hidden_size)
        return state | {"lower": rest, "upper": rest}

    def step(self, state: State, words: Tensor) -> Step:
        weights = {name: self._look(name, state) for name in self.attend if name != "regions"}
        seen = [_mean(weights[name], state[name]) for name in self.views]  # (B, V) each
        attention = {"time": weights.get("aligned", weights["appearance"])}
        if self.compact is not None:
            joint = [_mean(weights["aligned"], state[name]) for name in self.views]
            seen.append(self.compact(torch.cat(joint, 1)))  # Eq. 4, with phi of the sum
        if self.key_frames:
            local, attention["region"], attention["frame"] = self._local(weights["aligned"], state)
            seen.append(local)
        lower = self.lower(torch.cat([*seen, self.embed(words)], 1), state["lower"])  # Eqs. 10 and 11
        upper = self.upper(self.drop(lower), state["upper"])
        return Step(state | {"lower": lower, "upper": upper}, upper, attention)

    def logits(self, output: Tensor) -> Tensor:
        return self.read(self.drop(output))  # Eq. 12

    def _memory(self, name: str, values: Tensor, mask: Tensor) -> State:
        attention = cast(BilinearAttention, self.attend[name])
        return {f"{name} keys": attention.keys(values), f"{name} mask": mask}

    def _regions(self, rows: Modality, *, frames: Tensor) -> State:
        """Row j of the regions belongs to frames 3j, 3j + 1, 3j + 2."""
        groups = _groups(frames).any(-1)  # (B, G)
        length = min(groups.shape[1], rows.values.shape[1])
        values, mask = rows.values[:, :length], rows.mask[:, :length] & groups[:, :length]
        projected = self.project["regions"](values)  # (B, M, N, V): Eq. 7
        real = real_regions(Modality(values, mask))
        return self._memory("regions", projected, mask) | {"regions": projected, "real": real}

    def _look(self, name: str, state: State) -> Tensor:
        return self.attend[name](state["upper"], state[f"{name} keys"], state[f"{name} mask"])  # (B, L): Eqs. 2 and 3

    def _local(self, weights: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor]:
        """What the regions of the key frames show (B, V), the attention within each (B, K, N), and which they are."""
        mask = state["regions mask"]
        grouped = _groups(weights).mean(-1)[:, : mask.shape[1]]  # (B, M): Eq. 8
        chosen = self._choose(grouped, mask)  # (B, K, M)
        # The keys are linear in the regions, so those of a chosen frame are chosen in the same way.
        keys = torch.einsum("bkm,bmnw->bknw", chosen, state["regions keys"])
        regions = torch.einsum("bkm,bmnv->bknv", chosen, state["regions"])
        real = torch.einsum("bkm,bmn->bkn", chosen.detach(), state["real"].float()) > 0.5
        within = self.attend["regions"](state["upper"], keys, real)  # (B, K, N)
        return torch.einsum("bkn,bknv->bv", within, regions), within, chosen  # Eq. 9

    def _choose(self, weights: Tensor, mask: Tensor) -> Tensor:
        if self.sampler == "argmax":
            return top_k(weights, mask, count=self.key_frames)
        straight = self.backward_temperature if self.sampler == "straight_through" else None
        return gumbel_top_k(
            weights,
            mask,
            count=self.key_frames,
            temperature=self.temperature,
            noise=self.training,
            backward_temperature=straight,
        )


def _mean(weights: Tensor, values: Tensor) -> Tensor:
    return torch.einsum("bl,blv->bv", weights, values[:, : weights.shape[1]])


def _groups(rows: Tensor) -> Tensor:
    """(B, L) -> (B, ceil(L / 3), 3); what is missing at the end is zero."""
    return pad(rows, (0, -rows.shape[1] % GROUP)).unflatten(1, (-1, GROUP))


def _check(sizes: dict[str, int], *, align: bool, key_frames: int, sampler: str, activation: str) -> None:
    if sampler not in SAMPLERS:
        raise ValueError(f"sampler is '{sampler}', allowed: {', '.join(SAMPLERS)}")
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is '{activation}', allowed: {', '.join(ACTIVATIONS)}")
    if key_frames < 0:
        raise ValueError(f"key_frames is {key_frames}, allowed: 0 or more")
    if key_frames and "regions" in sizes and not align:
        raise ValueError("key frames are chosen by the aligned attention: set align to true, or key_frames to 0")


build = G2l
