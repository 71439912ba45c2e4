"""Each paper's idea on made videos that need it, against the same model without it. Minutes long."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.base import Captioner, Features, Modality
from models.dualafr import DualAfr
from models.g2l import G2l
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.teacher_forcing import make_loss_context, teacher_forced
from pipeline.corpus.vocabulary import EOS

pytestmark = pytest.mark.slow
THE = 4
Videos = Callable[[int, torch.Generator], tuple[Features, Tensor]]
GROUPS, REGIONS, KINDS, COLOURS = 4, 4, 3, 5


def rows(values: Tensor) -> Modality:
    return Modality(values, torch.ones(values.shape[:2], dtype=torch.bool))


def sentence(*words: Tensor) -> Tensor:
    """ "the", the words, and the end."""
    return torch.stack([torch.full_like(words[0], THE), *words, torch.full_like(words[0], EOS)], 1)


def small_objects(videos: int, numbers: torch.Generator) -> tuple[Features, Tensor]:
    """One of four groups of frames is marked. Its picture has a kind, and one marked region of it has a colour."""
    each = torch.arange(videos)
    key = torch.randint(GROUPS, (videos,), generator=numbers)
    kinds = torch.randint(KINDS, (videos, GROUPS), generator=numbers)
    colours = torch.randint(COLOURS, (videos, GROUPS, REGIONS), generator=numbers)
    marked = torch.randint(REGIONS, (videos, GROUPS), generator=numbers)
    pictures = torch.cat([F.one_hot(key, GROUPS).unsqueeze(-1), F.one_hot(kinds, KINDS)], -1)
    regions = torch.cat([F.one_hot(marked, REGIONS).unsqueeze(-1), F.one_hot(colours, COLOURS)], -1)
    features = {
        "appearance": rows(2.0 * pictures.repeat_interleave(3, 1)),  # three frames a group
        "regions": rows(2.0 * regions),
    }
    return features, sentence(10 + kinds[each, key], 5 + colours[each, key, marked[each, key]])


def textures(videos: int, numbers: torch.Generator) -> tuple[Features, Tensor]:
    """A texture that only pool2 shows, in one spot, and a thing that only pool5 shows."""
    texture, thing = torch.randint(4, (2, videos), generator=numbers)
    y, x = torch.randint(8, (2, videos), generator=numbers)
    shapes = {"pool2": (8, 8, 8, 4), "pool3": (4, 4, 4, 4), "pool4": (2, 2, 2, 4), "pool5": (1, 1, 1, 4), "fc7": (4,)}
    maps = {name: 0.2 * torch.rand(videos, 1, *shape, generator=numbers) for name, shape in shapes.items()}
    maps["pool2"][torch.arange(videos), 0, :, y, x, texture] += 2
    maps["pool5"][torch.arange(videos), 0, 0, 0, 0, thing] += 2
    return {name: rows(values) for name, values in maps.items()}, sentence(5 + texture, 9 + thing)


def accuracy(model: Captioner, make: Videos, *, updates: int, rate: float) -> list[float]:
    """How often each word after "the" is right on new videos, after so many batches of new videos."""
    numbers = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(updates):
        features, words = make(48, numbers)
        batch = CaptionBatch([""] * 48, torch.arange(48), words, torch.arange(48))
        loss = model.loss(make_loss_context(model, features, batch, tables={}, pairs=48))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    features, words = make(400, numbers)
    with torch.no_grad():
        read = teacher_forced(model.eval(), model.encode(features), words)
    right = (read.logits.argmax(-1) == read.words).float().view(words.shape[1], -1).mean(1)
    return right[1:-1].tolist()


def test_key_frames_show_the_small_object() -> None:
    """The picture's kind needs no regions; the region's colour does, and is one of five."""

    def run(key_frames: int) -> list[float]:
        torch.manual_seed(0)
        sizes = {"appearance": 1 + KINDS, "regions": 1 + COLOURS}
        widths = {"word_size": 16, "hidden_size": 48, "visual_size": 32, "aligned_size": 16, "attention_size": 32}
        model = G2l(vocabulary=13, sizes=sizes, dropout=0.0, key_frames=key_frames, sampler="argmax", **widths)
        return accuracy(model, small_objects, updates=400, rate=5e-3)

    without, found = run(0), run(1)
    assert without[0] > 0.9
    assert without[1] < 0.4
    assert min(found) > 0.9


def test_every_layer_says_what_only_it_knows() -> None:
    def run(layers: str) -> list[float]:
        torch.manual_seed(0)
        sizes = dict.fromkeys(("pool2", "pool3", "pool4", "pool5", "fc7"), 4)
        widths = {"word_size": 16, "hidden_size": 48, "attention_size": 32}
        model = DualAfr(vocabulary=13, sizes=sizes, dropout=0.0, layers=layers, **widths)
        return accuracy(model, textures, updates=600, rate=2e-3)

    texture, thing = run("pool2 pool3 pool4 pool5")
    assert min(texture, thing) > 0.9
    only_high = run("pool5")
    assert only_high[0] < 0.4 < 0.9 < only_high[1]
