"""STaTS (Cherian et al., "Spatio-temporal ranked-attention networks for video captioning", 2020).

Two ways to look, taken anew for every word. ST: where first, the same places in all frames, then how they evolve (an
LSTM whose last output must rank the frames in time). TS: one frame first, then where in it. Equation numbers are the
paper's; docs/models.md says where it leaves a choice and what we do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from models.base import Captioner, Features, Input, LossContext, Modality, State, Step, require_positive
from models.parts.layers import masked_mean
from models.parts.views import POOLS, Places, Seen, TemporoSpatial, View, make_spatio_temporal
from models.parts.word_memory import WordMemory

BRANCHES = ("both", "st", "ts")
ANY = (1, 2, 3, 4)  # axes of a row
ATTENDED = ("appearance", "motion", "regions")  # inputs with attention, in the order of the decoder's input


class Stats(Captioner):
    """A block of attention for each modality; their outputs lie side by side in the decoder's input."""

    inputs: ClassVar = {
        "appearance": Input("appearance", "grid", axes=ANY),
        "motion": Input("motion", "grid", optional=True, axes=ANY),
        "regions": Input("regions", "features", optional=True, axes=ANY),
        "label": Input("label", "label", optional=True),  # one-hot class, or class scores
    }
    attention_inputs: ClassVar = dict.fromkeys(("time", "place", "shared", "region"), "appearance")

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
        require_positive(temperature=temperature, recall=recall)
        self.rank_weight = rank_weight
        self.blocks = nn.ModuleDict()
        shape = {"query": hidden_size + word_size, "width": feature_size, "attention_size": attention_size}
        for name in [each for each in ATTENDED if each in sizes]:
            views = nn.ModuleDict()
            if branches != "ts":
                views["st"] = make_spatio_temporal(**shape, pool=pool, margin=margin)
            if branches != "st":
                views["ts"] = TemporoSpatial(**shape, temperature=temperature, one_frame=one_frame)
            project = nn.Sequential(nn.Linear(sizes[name], feature_size), nn.Dropout(dropout))
            choice = Choice(width=feature_size, hidden=hidden_size, attention_size=attention_size, views=len(views))
            self.blocks[name] = AttentionBlock(project, views, choice)
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
        for name, block in cast("Mapping[str, AttentionBlock]", self.blocks).items():
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

    def loss(self, context: LossContext) -> Tensor:
        """Cross-entropy and the ranking loss, both per word."""
        read = context.score(context.state)
        ranks = read.terms["rank"] if "rank" in read.terms else torch.zeros_like(read.loss)
        return (read.loss + self.rank_weight * ranks).sum() / read.words


class AttentionBlock(nn.Module):
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


def _part(state: State, name: str) -> State:
    return {key.removeprefix(f"{name}."): part for key, part in state.items() if key.startswith(f"{name}.")}


def _require(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{option} is '{value}'; known: {', '.join(known)}")


build = Stats
