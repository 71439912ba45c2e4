"""VRE's two algorithms as the paper prints them, a frame and a word at a time, beside the model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.base import Features, Modality
from models.parts.layers import ProductAttention
from models.vre import Encoder, RefocusingEncoder, Vre, refocus_loss
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.teacher_forcing import make_loss_context

CHANNELS, CELLS, SOUND, HIDDEN = 5, 4, 3, 6
LENGTHS = [1, 2, 9, 20, 20]  # the first has one frame, the key frames of others are at either end
WORDS = torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0], [8, 4, 2, 0], [5, 6, 7, 2], [6, 2, 0, 0], [8, 2, 0, 0]])
BATCH = CaptionBatch(list("abcde"), torch.tensor([0, 1, 2, 3, 4, 2]), WORDS, torch.tensor([5, 0, 2, 1, 4, 3]))


@dataclass(frozen=True)
class Seen:
    """One video, without padding."""

    frames: Tensor  # V^f (K, C)
    places: Tensor  # v^s (N x M, C)
    sound: Tensor  # v^a


def features() -> Features:
    generator = torch.Generator().manual_seed(3)
    rows = {
        "appearance": (LENGTHS, (CHANNELS,)),
        "places": ([2, 1, 3, 3, 2], (2, 2, CELLS)),
        "sound": ([0, 1, 2, 2, 1], (SOUND,)),
    }
    found = {}
    for name, (lengths, shape) in rows.items():
        mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
        found[name] = Modality(torch.randn(*mask.shape, *shape, generator=generator, dtype=torch.float64), mask)
    return found


def seen(given: Features, video: int) -> Seen:
    real = {name: rows.values[video][rows.mask[video]] for name, rows in given.items()}
    sound = real["sound"].mean(0) if len(real["sound"]) else torch.zeros(SOUND, dtype=torch.float64)
    return Seen(real["appearance"], real["places"].mean(0).flatten(0, 1), sound)


def build() -> Vre:
    sizes = {"appearance": CHANNELS, "places": CELLS, "sound": SOUND}
    model = Vre(vocabulary=9, sizes=sizes, hidden_size=HIDDEN, dropout=0.0).double()
    torch.manual_seed(17)
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.8)
    return model


def attend(attention: ProductAttention, query: Tensor, memory: Tensor) -> Tensor:
    """Eqs. 8, 9, 14 and 15."""
    scores = [attention.score(torch.tanh(attention.query(query) * attention.memory(each))) for each in memory]
    return torch.cat(scores).softmax(0)


def key_frame_gru(encoder: Encoder, frames: Tensor, key: int) -> Tensor:
    """Eqs. 4 to 7."""
    back = encoder.read.back(frames[: key + 1].flip(0))[1][0]
    ahead = encoder.read.ahead(frames[key:])[1][0]
    return torch.tanh(encoder.read.combine(torch.cat([back, ahead])))


def watch(encoder: RefocusingEncoder, video: Seen) -> tuple[Tensor, Tensor, Tensor]:
    """Algorithm 1: o1, o2, and alpha of the key frame."""
    around_middle = key_frame_gru(encoder, video.frames, len(video.frames) // 2)
    first = torch.tanh(encoder.hear(torch.cat([around_middle, video.sound])))
    weights = attend(encoder.attend, first, video.frames)
    around_key = key_frame_gru(encoder, video.frames, int(weights.argmax()))
    merged = torch.tanh(encoder.merge(torch.cat([around_middle, around_key])))
    return first, torch.tanh(encoder.hear(torch.cat([merged, video.sound]))), weights.max()


def cross_entropy(model: Vre, video: Seen, read: Tensor, words: list[int]) -> Tensor:
    """Algorithm 2 and Eqs. 17, 18."""
    whole = nn.LSTMCell(CHANNELS + CELLS + model.cell.input_size, HIDDEN, dtype=torch.float64)
    weights = torch.cat([model.see.weight, model.see_places.weight, model.cell.weight_ih], 1)  # type: ignore[union-attr]
    whole.load_state_dict(model.cell.state_dict() | {"weight_ih": weights})
    hidden, cell, loss = torch.zeros_like(read), read, torch.zeros((), dtype=torch.float64)
    for position, word in enumerate(words):
        query = torch.cat([read, hidden])
        frames = attend(model.frames, query, video.frames) @ video.frames
        places = attend(model.places, query, video.places) @ video.places  # type: ignore[arg-type]
        before = model.embed.weight[words[position - 1]] if position else read
        hidden, cell = whole(torch.cat([frames, places, video.sound, before]), (hidden, cell))
        loss = loss - model.read(hidden).log_softmax(0)[word]
    return loss


def as_printed(model: Vre, rewards_before: Tensor | None) -> tuple[Tensor, Tensor]:
    """Eqs. 20 to 22, with the sign of 21 put right: the loss per word, and the rewards of the batch's captions."""
    given, losses, certain = features(), [], []
    assert isinstance(model.encoder, RefocusingEncoder)
    for video, words in zip(BATCH.video_of.tolist(), WORDS.tolist(), strict=True):
        one, caption = seen(given, video), [word for word in words if word]
        first, second, focus = watch(model.encoder, one)
        losses.append(torch.stack([cross_entropy(model, one, read, caption) for read in (first, second)]))
        certain.append(focus)
    both = torch.stack(losses)  # (N, 2)
    rewards = both[:, 0] - both[:, 1]
    total = both.sum(1)
    if rewards_before is not None:
        total = total + 0.03 * refocus_loss(rewards - rewards_before, torch.stack(certain))
    return total.sum() / (WORDS != 0).sum(), rewards


@torch.no_grad()
def test_the_loss_of_three_epochs_is_the_papers() -> None:
    model, tables, before = build(), {}, None
    for epoch in range(3):
        expected, rewards = as_printed(model, before)

        context = make_loss_context(model, features(), BATCH, tables=tables, pairs=6)
        torch.testing.assert_close(model.loss(context), expected)
        torch.testing.assert_close(tables["reward"][BATCH.pairs], rewards)
        before = rewards
        model.read[1].weight.mul_(0.9 - 0.2 * epoch)  # rewards of the next epoch are others


def test_the_key_frames_of_these_videos_are_at_both_ends_and_within() -> None:
    """Or the loss above would say little of them."""
    assert build().encode(features())["key"].tolist() == [0, 0, LENGTHS[2] - 1, 11, 0]
