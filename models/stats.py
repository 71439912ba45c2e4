"""STaTS (Cherian et al., "Spatio-temporal ranked-attention networks for video captioning", 2020).

Two ways to look, taken anew for every word. ST: where first, the same places in all frames, then how they evolve (an
LSTM whose last output must rank the frames in time). TS: one frame first, then where in it. Equation numbers are the
paper's; docs/models.md says where it leaves a choice and what we do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.base import Captioner, Features, Input, Lesson, Modality, State, Step
from models.layers import AdditiveAttention, last_real, masked_mean
from models.word_memory import WordMemory

BRANCHES = ("both", "st", "ts")
POOLS = ("mean", "lstm", "ranked", "attention", "mean+lstm", "mean+ranked", "mean+attention")
LOOKS = ("appearance", "motion", "regions")  # inputs that are looked at, in the order of the decoder's input


@dataclass(frozen=True)
class Places:
    """A modality as vectors at n places of T frames: cells of a grid, regions that differ by frame, or one a frame."""

    values: Tensor  # (B, T, n, D)
    frames: Tensor  # (B, T) bool: real ones
    regions: Tensor | None  # (B, T, n) bool: a frame may have fewer than others; None for a grid

    @property
    def kind(self) -> str:
        return "place" if self.regions is None else "region"

    @property
    def there(self) -> Tensor:
        return self.values.new_ones(self.values.shape[:3], dtype=torch.bool) if self.regions is None else self.regions

    def means(self) -> Tensor:
        """The frames' mean vectors (B, T, D)."""
        shares = self.there / self.there.sum(-1, keepdim=True).clamp(min=1)
        return torch.einsum("btn,btnd->btd", shares, self.values)


@dataclass(frozen=True)
class Seen:
    """What one branch saw for one word, and how badly its output ranks the frames."""

    vector: Tensor  # (B, D)
    attention: Mapping[str, Tensor] = field(default_factory=dict)
    rank: Tensor | None = None  # (B,)


class Stats(Captioner):
    """A block of attention for each modality; their outputs lie side by side in the decoder's input."""

    inputs: ClassVar = {
        "appearance": Input("appearance", "grid"),
        "motion": Input("motion", "grid", optional=True),
        "regions": Input("regions", "features", optional=True),
        "label": Input("label", "label", optional=True),  # one-hot class, or class scores
    }
    looks: ClassVar = dict.fromkeys(("time", "place", "shared", "region"), "appearance")

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        word_size: int = 256,
        feature_size: int = 512,
        hidden_size: int = 512,
        attention_size: int = 128,
        dropout: float = 0.5,  # not in the paper
        branches: str = "both",
        pool: str = "mean+ranked",
        margin: float = 1.0,
        rank_weight: float = 0.1,
        temperature: float = 0.1,
        one_frame: bool = False,
        recall: int = 30,
    ) -> None:
        super().__init__()
        _require("branches", branches, BRANCHES)
        _require("pool", pool, POOLS)
        self.rank_weight = rank_weight
        self.blocks = nn.ModuleDict()
        shape = {"query": hidden_size + word_size, "width": feature_size, "attention_size": attention_size}
        for name in [each for each in LOOKS if each in sizes]:
            views = nn.ModuleDict()
            if branches != "ts":
                views["st"] = make_spatio_temporal(**shape, pool=pool, margin=margin)
            if branches != "st":
                views["ts"] = TemporoSpatial(**shape, temperature=temperature, one_frame=one_frame)
            project = nn.Sequential(nn.Linear(sizes[name], feature_size), nn.Dropout(dropout))
            choice = Choice(width=feature_size, hidden=hidden_size, attention_size=attention_size, views=len(views))
            self.blocks[name] = Block(project, views, choice)
        self.label = nn.Linear(sizes["label"], word_size, bias=False) if "label" in sizes else None
        self.embed = nn.Embedding(vocabulary, word_size, padding_idx=0)
        self.recall = WordMemory(size=word_size, width=attention_size, length=recall)
        context = len(self.blocks) * feature_size + (word_size if self.label else 0)
        self.cell = nn.LSTMCell(word_size + context, hidden_size)
        self.read = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden_size, vocabulary))

    def encode(self, features: Features) -> State:
        videos = features["appearance"].values
        zeros = videos.new_zeros(len(videos), self.cell.hidden_size)
        state = {"hidden": zeros, "cell": zeros} | self.recall.first_state(videos)
        for name, block in cast("Mapping[str, Block]", self.blocks).items():
            state |= {f"{name}.{key}": tensor for key, tensor in block.encode(features[name]).items()}
        if self.label:
            state["label"] = self.label(masked_mean(*features["label"]))  # (B, E)
        return state

    def step(self, state: State, words: Tensor) -> Step:
        word = self.embed(words)  # (B, E)
        recalled, context = self.recall(state, word)
        query = torch.cat([state["hidden"], context], 1)  # (B, H + E)
        seen = [block(_part(state, name), query, state["hidden"]) for name, block in self.blocks.items()]
        label = [state["label"]] if self.label else []
        given = torch.cat([word, *(each.vector for each in seen), *label], 1)
        hidden, cell = self.cell(given, (state["hidden"], state["cell"]))
        ranks = [each.rank for each in seen if each.rank is not None]
        state = state | recalled | {"hidden": hidden, "cell": cell}
        terms = {"rank": torch.stack(ranks).sum(0)} if ranks else {}
        return Step(state, hidden, attention=seen[0].attention, terms=terms)

    def logits(self, output: Tensor) -> Tensor:
        return self.read(output)

    def columns(self) -> Mapping[str, Sequence[str]]:
        return {"view": ("ST", "TS")}

    def loss(self, lesson: Lesson) -> Tensor:
        """Cross-entropy and the ranking loss, both per word."""
        read = lesson.score(lesson.state)
        ranks = read.terms["rank"] if "rank" in read.terms else torch.zeros_like(read.loss)
        return (read.loss + self.rank_weight * ranks).sum() / read.words


class Block(nn.Module):
    """One modality, seen in one or two ways."""

    def __init__(self, project: nn.Module, views: nn.ModuleDict, choice: Choice) -> None:
        super().__init__()
        self.project = project
        self.views = views
        self.choice = choice

    def encode(self, rows: Modality) -> State:
        values = rows.values
        flat = values.flatten(2, -2) if values.dim() > 3 else values.unsqueeze(2)  # (B, T, n, C)
        regions = flat.ne(0).any(-1) if values.dim() == 4 else None  # extractors fill up with zeros
        places = Places(self.project(flat), rows.mask, regions)
        state = {"values": places.values, "frames": rows.mask} | ({} if regions is None else {"regions": regions})
        for name, view in cast("Mapping[str, View]", self.views).items():
            state |= {f"{name}.{key}": tensor for key, tensor in view.encode(places).items()}
        return state

    def forward(self, state: State, query: Tensor, hidden: Tensor) -> Seen:
        places = Places(state["values"], state["frames"], state.get("regions"))
        seen = [view(_part(state, name), places, query) for name, view in self.views.items()]
        attention = {kind: weights for each in seen for kind, weights in each.attention.items()}  # TS comes last
        if len(seen) > 1 and "place" in seen[0].attention:
            attention["shared"] = seen[0].attention["place"]  # the places of ST, alike in all frames
        vector, views = self.choice([each.vector for each in seen], hidden)
        rank = next((each.rank for each in seen if each.rank is not None), None)
        return Seen(vector, attention | views, rank)


class View(nn.Module, ABC):
    """One way to look at a modality."""

    @abstractmethod
    def encode(self, places: Places) -> State:
        """What can be computed before the first word."""

    @abstractmethod
    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        """What is seen for one word."""


class SpatioTemporal(View):
    """Places first (Eq. 3), then the evolution of what is there (Eqs. 6-8)."""

    def __init__(self, *, query: int, width: int, attention_size: int, pool: str, margin: float) -> None:
        super().__init__()
        self.margin = margin
        self.mean, self.ranked = "mean" in pool, "ranked" in pool
        self.place = AdditiveAttention(query=query, memory=width, width=attention_size)
        self.reader = nn.LSTM(width, width, batch_first=True) if pool != "mean" else None

    def encode(self, places: Places) -> State:
        if places.values.shape[2] == 1:  # no choice of place, so that no word changes what is seen
            seen = self._evolution(places.values.squeeze(2), places.frames)
            return {"vector": seen.vector} | ({} if seen.rank is None else {"rank": seen.rank})
        if places.regions is not None:
            return {"keys": self.place.keys(places.values)}  # (B, T, n, W)
        over_time = masked_mean(places.values.flatten(2), places.frames).unflatten(1, places.values.shape[2:])
        return {"keys": self.place.keys(over_time).unsqueeze(1)}  # (B, 1, n, W): temporally shared

    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        if "vector" in state:
            return Seen(state["vector"], rank=state.get("rank"))
        there = places.there[:, : state["keys"].shape[1]]
        weights = self.place(query, state["keys"], there)  # (B, 1 or T, n)
        attended = (weights.unsqueeze(2) @ places.values).squeeze(2)  # (B, T, D)
        seen = self._evolution(attended, places.frames)
        return Seen(seen.vector, {places.kind: weights.squeeze(1)}, seen.rank)

    def _evolution(self, attended: Tensor, frames: Tensor) -> Seen:
        mean = masked_mean(attended, frames)
        if self.reader is None:
            return Seen(mean)
        read = last_real(self.reader(attended)[0], frames)  # (B, D) Eq. 8
        rank = None
        if self.ranked:
            rank = ranking_loss(read, attended, frames, margin=self.margin) / frames.sum(1).clamp(min=1)
        return Seen((mean + read) / 2 if self.mean else read, rank=rank)


def ranking_loss(direction: Tensor, frames: Tensor, mask: Tensor, *, margin: float) -> Tensor:
    """Eqs. 6-7, (B,): each frame should lie further along the direction than the one before it."""
    along = torch.einsum("bd,btd->bt", direction, frames)
    losses = F.softplus(along[:, :-1] + margin - along[:, 1:])
    return (losses * mask[:, 1:]).sum(1)


class FlatAttention(View):
    """Table 2's rows without ST: attention over all places of all frames at once, or over the frames' means."""

    def __init__(self, *, query: int, width: int, attention_size: int, means: bool) -> None:
        super().__init__()
        self.means = means
        self.attention = AdditiveAttention(query=query, memory=width, width=attention_size)

    def encode(self, places: Places) -> State:
        memory = places.means() if self.means else places.values.flatten(1, 2)  # (B, T or T * n, D)
        real = places.frames if self.means else (places.there & places.frames.unsqueeze(-1)).flatten(1)
        return {"memory": memory, "real": real, "keys": self.attention.keys(memory)}

    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        weights = self.attention(query, state["keys"], state["real"])
        by_frame = weights.view(*places.frames.shape, -1).sum(-1)  # (B, T)
        return Seen(torch.einsum("bl,bld->bd", weights, state["memory"]), {"time": by_frame})


class TemporoSpatial(View):
    """A frame first (Eq. 9, by a softmax of low temperature), then places in it (Eqs. 10-11)."""

    def __init__(self, *, query: int, width: int, attention_size: int, temperature: float, one_frame: bool) -> None:
        super().__init__()
        self.temperature = temperature
        self.one_frame = one_frame
        self.frame = AdditiveAttention(query=query, memory=width, width=attention_size)
        self.place = AdditiveAttention(query=query, memory=width, width=attention_size)

    def encode(self, places: Places) -> State:
        return {"keys": self.frame.keys(places.means())}  # (B, T, W)

    def forward(self, state: State, places: Places, query: Tensor) -> Seen:
        frames = self.frame(query, state["keys"], places.frames, temperature=self.temperature)  # (B, T)
        if self.one_frame and not self.training:
            frames = F.one_hot(frames.argmax(1), frames.shape[1]).to(frames.dtype)
        selected = (frames.unsqueeze(1) @ places.values.flatten(2)).squeeze(1).unflatten(1, places.values.shape[2:])
        if selected.shape[1] == 1:
            return Seen(selected.squeeze(1), {"time": frames})
        there = torch.einsum("bt,btn->bn", frames, places.there.to(frames.dtype)) > 0
        weights = self.place(query, self.place.keys(selected), there)  # (B, n)
        return Seen(torch.einsum("bn,bnd->bd", weights, selected), {"time": frames, places.kind: weights})


class Choice(nn.Module):
    """Eq. 12: the language state weighs the two views."""

    def __init__(self, *, width: int, hidden: int, attention_size: int, views: int) -> None:
        super().__init__()
        chosen = views > 1
        self.hidden = nn.Linear(hidden, attention_size) if chosen else None
        self.views = nn.ModuleList(nn.Linear(width, attention_size, bias=False) for _ in range(views * chosen))
        self.scores = nn.ModuleList(nn.Linear(attention_size, 1, bias=False) for _ in range(views * chosen))

    def forward(self, seen: list[Tensor], hidden: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The chosen vector (B, D) and, where there was a choice, the weights of the views (B, 2)."""
        if self.hidden is None:
            return torch.tanh(seen[0]), {}
        asked = self.hidden(hidden)
        parts = zip(self.scores, self.views, seen, strict=True)
        weights = torch.cat([score(torch.tanh(view(each) + asked)) for score, view, each in parts], 1).softmax(1)
        return torch.tanh(torch.einsum("bv,bvd->bd", weights, torch.stack(seen, 1))), {"view": weights}


def make_spatio_temporal(*, query: int, width: int, attention_size: int, pool: str, margin: float) -> View:
    if "attention" in pool:
        return FlatAttention(query=query, width=width, attention_size=attention_size, means="mean" in pool)
    return SpatioTemporal(query=query, width=width, attention_size=attention_size, pool=pool, margin=margin)


def _part(state: State, name: str) -> State:
    return {key.removeprefix(f"{name}."): part for key, part in state.items() if key.startswith(f"{name}.")}


def _require(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{option} is '{value}'; known: {', '.join(known)}")


build = Stats
