"""VRE (Shi et al., "Watch it twice: video captioning with a refocused video encoder", 2019).

The video is read outwards from a key frame, first from the middle, then from the frame that the first reading points
at; the same decoder captions both readings, and the second is the output. Equation numbers are the paper's;
docs/models.md says where it errs and what we do.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.base import Captioner, CaptionLoss, Features, Input, LossContext, State, Step
from models.parts.layers import ProductAttention, masked_mean

WATCH = ("refocus", "once", "never")
JOINT, FIRST, CONSTANT = range(3)
PHASES = {"joint": JOINT, "first": FIRST, "constant": CONSTANT}
SURE = 1e-6  # keeps log(alpha) and log(1 - alpha) finite


Gates = tuple[Tensor, Tensor]  # of the two directions of a KBiGRU, (B, K, 3H) each


class VideoInputs(NamedTuple):
    frames: Tensor  # (B, K, C)
    mask: Tensor  # (B, K)
    sound: Tensor  # (B, S), S = 0 where the run has none

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1)  # (B,)


class Vre(Captioner):
    """`watch`: refocus is the paper's model, once its KBiGRU rows, never its row of attention alone."""

    inputs: ClassVar = {
        "appearance": Input("appearance", "pool"),
        # the same network's maps: v^s is their mean over time
        "places": Input("regions", "grid", optional=True, axes=(2, 3, 4)),
        "sound": Input("sound", "pool", optional=True),
    }
    attention_inputs: ClassVar = {"time": "appearance", "refocus": "appearance", "place": "places"}
    stages: ClassVar = frozenset(PHASES)
    phase: Tensor  # in the state dictionary, so that a resumed or opened run goes on where it was

    def __init__(
        self,
        *,
        vocabulary: int,
        sizes: dict[str, int],
        hidden_size: int = 512,  # of the words too: the video takes the place of the word before the first
        dropout: float = 0.5,
        watch: str = "refocus",
        refocus_weight: float = 0.03,
        quiet_reward: bool = True,
        reward_per_word: bool = False,
    ) -> None:
        super().__init__()
        if watch not in WATCH:
            raise ValueError(f"watch is '{watch}'; known: {', '.join(WATCH)}")
        self.refocus_weight, self.quiet_reward, self.reward_per_word = refocus_weight, quiet_reward, reward_per_word
        channels, sound = sizes["appearance"], sizes.get("sound", 0)
        shape = {"channels": channels, "sound": sound, "hidden": hidden_size}
        self.encoder = {"refocus": RefocusingEncoder, "once": Encoder}[watch](**shape) if watch != "never" else None
        self.scout = RefocusingEncoder(**shape).requires_grad_(False) if watch == "refocus" else None
        self.register_buffer("phase", torch.tensor(JOINT))
        self.frames = ProductAttention(query=2 * hidden_size, memory=channels, width=hidden_size)
        self.places = None
        if "places" in sizes:
            self.places = ProductAttention(query=2 * hidden_size, memory=sizes["places"], width=hidden_size)
        self.embed = nn.Embedding(vocabulary, hidden_size, padding_idx=0)
        # W (sum of a x) = sum of a (W x): what the cell makes of frames and places is known before the first word.
        self.see = nn.Linear(channels, 4 * hidden_size, bias=False)
        self.see_places = nn.Linear(sizes["places"], 4 * hidden_size, bias=False) if "places" in sizes else None
        self.cell = nn.LSTMCell(sound + hidden_size, hidden_size)
        self.read = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden_size, vocabulary))

    def begin(self, stage: str) -> None:
        """`first`: step 1 alone. `joint`: both steps. `constant`: afresh, with the key frames of the model so far."""
        if self.scout is None or self.encoder is None or not stage:
            return
        sought = self.phase != CONSTANT  # else the key frames so far are the scout's: our own choice was not trained
        self.phase.fill_(PHASES[stage])
        if stage == "constant":
            if sought:
                self.scout.load_state_dict(self.encoder.state_dict())
            for name, part in self.named_children():
                if name != "scout":
                    part.apply(_reset)

    def encode(self, features: Features) -> State:
        frames, mask = features["appearance"]
        sound = masked_mean(*features["sound"]) if "sound" in features else frames.new_zeros(len(frames), 0)
        state = {"sound": sound, "mask": mask, "frame_keys": self.frames.keys(frames), "frame_gates": self.see(frames)}
        if self.places is not None and self.see_places is not None:
            grid, real = features["places"]
            cells = grid.flatten(2, -2)  # (B, K, n, C)
            means = masked_mean(cells.flatten(2), real).unflatten(1, cells.shape[2:])  # (B, n, C) Eq. 3
            state |= {"place_keys": self.places.keys(means), "place_gates": self.see_places(means)}
        return state | self._watch(VideoInputs(frames, mask, sound))

    def _watch(self, video: VideoInputs) -> State:
        """Algorithm 1: what is captioned, and what the loss needs of the two readings."""
        if self.encoder is None:
            return start(video.frames.new_zeros(len(video.frames), self.cell.hidden_size))
        gates = self.encoder.read.gates(video.frames)
        first, around_middle = self.encoder.first(video, gates)
        if not isinstance(self.encoder, RefocusingEncoder) or self.phase == FIRST:
            return start(first)
        weights = self._constant(video) if self.phase == CONSTANT else self.encoder.refocus(video, first)  # (B, K)
        focus, key = weights.max(1)  # (B,) Eq. 11
        second = self.encoder.second(video, gates, around_middle, key)
        return start(second) | {"first": first, "key": key, "focus": focus, "refocus": weights}

    def first_reading(self, state: State) -> State | None:
        return state | start(state["first"]) if "first" in state else None

    @torch.no_grad()
    def _constant(self, video: VideoInputs) -> Tensor:
        if self.scout is None:
            return video.mask.float()
        first, _ = self.scout.first(video, self.scout.read.gates(video.frames))
        return self.scout.refocus(video, first)

    def step(self, state: State, words: Tensor) -> Step:
        """Algorithm 2."""
        query = torch.cat([state["video"], state["hidden"]], 1)
        times = self.frames(query, state["frame_keys"], state["mask"])  # (B, K)
        attention = {"time": times} | ({"refocus": state["refocus"]} if "refocus" in state else {})
        gates = torch.einsum("bk,bkg->bg", times, state["frame_gates"])  # (B, 4H)
        if self.places is not None:
            keys = state["place_keys"]
            attention["place"] = self.places(query, keys, keys.new_ones(keys.shape[:2], dtype=torch.bool))  # (B, n)
            gates = gates + torch.einsum("bn,bng->bg", attention["place"], state["place_gates"])
        # There is no word before the first: the video itself takes its place.
        previous = torch.where(state["begun"], self.embed(words), state["video"])  # (B, H)
        hidden, cell = self._moved(gates, torch.cat([state["sound"], previous], 1), state)
        moved = {"hidden": hidden, "cell": cell, "begun": torch.ones_like(state["begun"])}
        return Step(state | moved, hidden, attention)

    def _moved(self, gates: Tensor, given: Tensor, state: State) -> tuple[Tensor, Tensor]:
        """The LSTM cell, of whose input the frames' and places' part is done."""
        gates = gates + F.linear(given, self.cell.weight_ih, self.cell.bias_ih)
        gates = gates + F.linear(state["hidden"], self.cell.weight_hh, self.cell.bias_hh)
        enter, keep, new, out = gates.chunk(4, 1)  # (B, H) each
        cell = keep.sigmoid() * state["cell"] + enter.sigmoid() * new.tanh()
        return out.sigmoid() * cell.tanh(), cell

    def logits(self, output: Tensor) -> Tensor:
        return self.read(output)

    def loss(self, context: LossContext) -> Tensor:
        """Eq. 22 per word: both steps' cross-entropy and, while the key frames are still sought, L_R+."""
        state = context.state
        if "first" not in state:
            return super().loss(context)
        first, second = context.score(state | start(state["first"])), context.score(state)
        total = first.loss + second.loss  # (N,)
        if self.phase == JOINT:
            total = total + self.refocus_weight * self._refocus_loss(context, first, second)
        return total.sum() / second.words

    def _refocus_loss(self, context: LossContext, first: CaptionLoss, second: CaptionLoss) -> Tensor:
        """(N,) Each caption's reward beside that of the epoch before; none in its first epoch."""
        if self.quiet_reward:
            state = context.state
            first, second = context.score_no_grad(state | start(state["first"])), context.score_no_grad(state)
        reward = (first.nll - second.nll) / (first.lengths if self.reward_per_word else 1)  # Eq. 20
        table = context.tables.setdefault("reward", reward.new_full((context.pairs,), torch.nan))
        better = (reward - table[context.captions]).detach().nan_to_num()  # (N,)
        table[context.captions] = reward.detach()
        return refocus_loss(better, context.state["focus"][context.video_of])


def refocus_loss(better: Tensor, focus: Tensor) -> Tensor:
    """Eq. 21 with its sign put right: a key frame that did worse must become less likely, not more."""
    focus = focus.to(better.dtype).clamp(SURE, 1 - SURE)  # in half precision 1 - SURE would be 1
    return -better.abs() * torch.where(better > 0, focus.log(), (1 - focus).log())


def start(video: Tensor) -> State:
    """The decoder before the first word: the video is the cell, and the hidden state is zero."""
    begun = torch.zeros(len(video), 1, dtype=torch.bool, device=video.device)
    return {"video": video, "hidden": torch.zeros_like(video), "cell": video, "begun": begun}


class Encoder(nn.Module):
    """Step 1 of Algorithm 1: the video read outwards from its middle, and its sound."""

    def __init__(self, *, channels: int, sound: int, hidden: int) -> None:
        super().__init__()
        self.read = KeyFrameGru(channels=channels, hidden=hidden)
        self.hear = nn.Linear(hidden + sound, hidden)  # W_a

    def first(self, video: VideoInputs, gates: Gates) -> tuple[Tensor, Tensor]:
        """o1 and h1, both (B, H)."""
        around_middle = self.read(gates, video.lengths, video.lengths // 2)
        return self.with_sound(around_middle, video), around_middle

    def with_sound(self, read: Tensor, video: VideoInputs) -> Tensor:
        return torch.tanh(self.hear(torch.cat([read, video.sound], 1)))


class RefocusingEncoder(Encoder):
    """Step 2: the choice of the key frame, and the video read again from there by the same KBiGRU."""

    def __init__(self, *, channels: int, sound: int, hidden: int) -> None:
        super().__init__(channels=channels, sound=sound, hidden=hidden)
        self.attend = ProductAttention(query=hidden, memory=channels, width=hidden)
        self.merge = nn.Linear(2 * hidden, hidden)  # W_m

    def refocus(self, video: VideoInputs, first: Tensor) -> Tensor:
        return self.attend(first, self.attend.keys(video.frames), video.mask)  # (B, K) Eqs. 8-9

    def second(self, video: VideoInputs, gates: Gates, around_middle: Tensor, key: Tensor) -> Tensor:
        """o2 (B, H)."""
        around_key = self.read(gates, video.lengths, key)
        return self.with_sound(torch.tanh(self.merge(torch.cat([around_middle, around_key], 1))), video)


class KeyFrameGru(nn.Module):
    """KBiGRU (Eqs. 4-7): from the key frame back to the first frame, and from the key frame on to the last."""

    def __init__(self, *, channels: int, hidden: int) -> None:
        super().__init__()
        self.back = nn.GRU(channels, hidden, batch_first=True)
        self.ahead = nn.GRU(channels, hidden, batch_first=True)
        self.combine = nn.Linear(2 * hidden, hidden)  # W_c

    def gates(self, frames: Tensor) -> Gates:
        """What both directions make of the frames themselves (B, K, 3H): the same for every key frame."""
        (back, _, back_bias, _), (ahead, _, ahead_bias, _) = self.back.all_weights[0], self.ahead.all_weights[0]
        return F.linear(frames, back, back_bias), F.linear(frames, ahead, ahead_bias)

    def forward(self, gates: Gates, lengths: Tensor, key: Tensor) -> Tensor:
        """Gates of the frames, real frames (B,), key frames (B,) -> (B, H)."""
        away = torch.arange(gates[0].shape[1], device=key.device)
        back = _last(self.back, _rows(gates[0], key.unsqueeze(1) - away), key + 1)
        ahead = _last(self.ahead, _rows(gates[1], key.unsqueeze(1) + away), lengths - key)
        return torch.tanh(self.combine(torch.cat([back, ahead], 1)))


def _rows(frames: Tensor, wanted: Tensor) -> Tensor:
    """Frames in another order (B, K, C); those beyond either end are never read."""
    wanted = wanted.clamp(0, frames.shape[1] - 1)
    return frames.gather(1, wanted.unsqueeze(-1).expand(-1, -1, frames.shape[2]))


def _last(reader: nn.GRU, gates: Tensor, lengths: Tensor) -> Tensor:
    """The reader's state after the last real row (B, H), from its input gates (B, K, 3H)."""
    hidden = gates.new_zeros(len(gates), reader.hidden_size)
    _, weight, _, bias = reader.all_weights[0]
    for row in range(int(lengths.max())):
        own = F.linear(hidden, weight, bias)  # (B, 3H)
        reset, update = (gates[:, row, : -reader.hidden_size] + own[:, : -reader.hidden_size]).sigmoid().chunk(2, 1)
        new = (gates[:, row, -reader.hidden_size :] + reset * own[:, -reader.hidden_size :]).tanh()
        hidden = torch.where((row < lengths).unsqueeze(1), torch.lerp(new, hidden, update), hidden)
    return hidden


def _reset(module: nn.Module) -> None:
    if callable(reset := getattr(module, "reset_parameters", None)):
        reset()


build = Vre
