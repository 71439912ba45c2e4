"""dualAFR: levels brought to one grid, the gradient through random choices, and what the first word is read from."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from extractors import c3d_video
from extractors.c3d_video import STEPS
from models.base import CHOICE, Features, Modality
from models.dualafr import DualAfr
from models.parts.alignment import KINDS, LEVELS, ConvolutionAlignment, Hypercolumn, Pooling, make_alignment
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.teacher_forcing import make_loss_context, teacher_forced
from pipeline.corpus.vocabulary import BOS, EOS

CHANNELS = {"pool2": 2, "pool3": 3, "pool4": 4, "pool5": 5}
SIZES = {**CHANNELS, "fc7": 6}
SMALL: dict[str, Any] = {"word_size": 6, "hidden_size": 8, "attention_size": 7}


def level_map(name: str, frames: int, seed: int = 0) -> Tensor:
    """What C3D gives for a video of so many frames, (T, h, w, C): after a ReLU, so never negative."""
    level = LEVELS[name]
    steps = -(-frames * level.steps // 16)
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(steps, level.side, level.side, CHANNELS[name], generator=generator)


def as_rows(steps: Tensor, name: str, *, rows: int | None = None) -> Modality:
    """Rows of 16 frames, zero after the end; then more rows of rubbish when asked for."""
    frames = len(steps) * STEPS[name]
    real = c3d_video.as_rows(steps, lead=0, length=frames, step=STEPS[name])  # (R, steps, h, w, C)
    wanted = rows or len(real)
    values = torch.cat([real, torch.full((wanted - len(real), *real.shape[1:]), 1e3)])
    return Modality(values.unsqueeze(0), (torch.arange(wanted) < len(real)).unsqueeze(0))


def video(frames: int, *, rows: int | None = None) -> Features:
    pools = {name: as_rows(level_map(name, frames), name, rows=rows) for name in LEVELS}
    fc7 = torch.rand(1, 2, 6, generator=torch.Generator().manual_seed(9))
    return pools | {"fc7": Modality(fc7, torch.ones(1, 2, dtype=torch.bool))}


def make(sizes: dict[str, int] = SIZES, **options: Any) -> DualAfr:
    torch.manual_seed(0)
    return DualAfr(vocabulary=9, sizes=sizes, **{**SMALL, **options}).eval()


@pytest.mark.parametrize("frames", [16, 17, 30, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_every_level_comes_to_the_grid_of_the_highest(kind: str, frames: int) -> None:
    steps = {"pool2": -(-frames // 2), "pool3": -(-frames // 4), "pool4": -(-frames // 8), "pool5": -(-frames // 16)}
    for name in LEVELS:
        assert len(level_map(name, frames)) == steps[name]
        aligned = make_alignment(kind, name, channels=CHANNELS[name], width=5)(as_rows(level_map(name, frames), name))
        assert aligned.shape == (1, 5, -(-frames // 16), 4, 4)


@pytest.mark.parametrize("frames", [16, 17, 30, 40])
@pytest.mark.parametrize("name", ["pool2", "pool3", "pool4"])
def test_the_convolution_equals_the_papers_on_the_video_alone(name: str, frames: int) -> None:
    """Neither the zeros after the end nor the rows of longer neighbours reach a result."""
    level, steps = LEVELS[name], level_map(name, frames)
    align = ConvolutionAlignment(CHANNELS[name], 5, level)

    found = align(as_rows(steps, name, rows=4))[:, :, : -(-frames // 16)]

    kernel = {"pool2": 7, "pool3": 5, "pool4": 3}[name]
    plain = F.conv3d(
        steps.permute(3, 0, 1, 2)[None], align.convolution.weight, align.convolution.bias, padding=kernel // 2
    )
    torch.testing.assert_close(found, F.max_pool3d(plain.relu(), level.ratio, ceil_mode=True))


def test_the_highest_level_is_taken_as_it_is() -> None:
    steps = level_map("pool5", 30)
    aligned = make_alignment("conv", "pool5", channels=5, width=5)(as_rows(steps, "pool5"))

    assert torch.equal(aligned[0].permute(1, 2, 3, 0), steps)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("name", ["pool2", "pool3", "pool4"])
def test_pooling_covers_what_a_step_of_pool5_sees(name: str, largest: bool) -> None:
    """The paper's Table 5, counted from one: pool2 [8i-14, 8i+7], pool3 [4i-6, 4i+3], pool4 [2i-2, 2i+1]."""
    ends = {"pool2": (8, -14, 7), "pool3": (4, -6, 3), "pool4": (2, -2, 1)}
    ratio, first, last = ends[name]
    steps = level_map(name, 40)
    align = Pooling(CHANNELS[name], 5, LEVELS[name], largest=largest)
    align.embed = torch.nn.Identity()

    found = align(as_rows(steps, name, rows=4))[0, :, :3]  # (C, 3, 4, 4)

    def seen(i: int, size: int) -> slice:
        return slice(max(ratio * i + first, 1) - 1, min(ratio * i + last, size))

    for t, y, x in itertools.product(range(1, 4), range(1, 5), range(1, 5)):
        field = steps[seen(t, len(steps)), seen(y, steps.shape[1]), seen(x, steps.shape[2])].flatten(0, 2)
        expected = field.amax(0) if largest else field.mean(0)
        torch.testing.assert_close(found[:, t - 1, y - 1, x - 1], expected)


def test_a_hypercolumn_reads_the_middle() -> None:
    steps = level_map("pool2", 17)  # 9 steps: the middle of the second row lies beyond the end
    align = Hypercolumn(2, 5, LEVELS["pool2"])
    align.embed = torch.nn.Identity()

    found = align(as_rows(steps, "pool2"))[0]  # (C, 2, 4, 4)

    torch.testing.assert_close(found[:, 0, 0, 1], steps[3:5, 3:5, 11:13].mean((0, 1, 2)))
    torch.testing.assert_close(found[:, 1, 0, 1], steps[8, 3:5, 11:13].mean((0, 1)))
    torch.testing.assert_close(found[:, 0, 3, 3], steps[3:5, 27, 27].mean(0))  # 28 steps are no four times eight


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frames", [16, 17])
def test_longer_neighbours_change_nothing(kind: str, frames: int) -> None:
    model = make(align=kind)
    words = torch.tensor([BOS])

    said = []
    for features in (video(frames), video(frames, rows=4)):
        state = model.step(model.encode(features), words).state
        said.append(model.logits(model.step(state, torch.tensor([5])).output))
    torch.testing.assert_close(*said, atol=1e-5, rtol=0)


def test_the_first_word_is_read_from_fc7_alone() -> None:
    model, features = make(), video(30)
    start = torch.tanh(model.start(features["fc7"].values.mean(1)))

    first = model.step(model.encode(features), torch.tensor([BOS]))

    torch.testing.assert_close(first.output, start)
    assert first.state["cell"].count_nonzero() == 0
    assert all(weights.count_nonzero() == 0 for weights in first.attention.values())
    second = model.step(first.state, torch.tensor([5]))
    assert {name: tuple(weights.shape) for name, weights in second.attention.items()} == {
        "place": (1, 32),
        "layer": (1, 4),
    }


def test_the_context_is_the_mean_over_places_then_layers() -> None:
    model, features = make(), video(16)
    state = model.step(model.encode(features), torch.tensor([BOS])).state
    step = model.step(state, torch.tensor([5]))

    stacked = state["places"][0]  # (P, L, D)
    looked = (step.attention["place"][0, :, None, None] * stacked).sum(0)  # (L, D)
    context = step.attention["layer"][0] @ looked
    given = torch.cat([model.embed.weight[5], context]).unsqueeze(0)
    hidden, _ = model.cell(given, (state["hidden"], state["cell"]))
    torch.testing.assert_close(step.output, hidden)


def test_one_layer_leaves_no_choice_of_layers() -> None:
    model = make(layers="pool4")

    state = model.step(model.encode(video(16)), torch.tensor([BOS])).state
    assert set(model.step(state, torch.tensor([5])).attention) == {"place"}
    assert not any("layer." in name for name, _ in model.named_parameters())


def test_hard_attention_looks_at_one_place_and_layer() -> None:
    model = make(hard=True)
    state = model.step(model.encode(video(16)), torch.tensor([BOS])).state
    context, attention, chance = model._look(state)

    place, layer = (int(attention[name].argmax()) for name in ("place", "layer"))
    torch.testing.assert_close(context[0][0], state["places"][0, place, layer])
    best = attention["place"].max() * attention["layer"].max()
    torch.testing.assert_close(chance[0].exp(), best)


def test_the_paper_s_sizes() -> None:
    sizes = {"pool2": 128, "pool3": 256, "pool4": 512, "pool5": 512, "fc7": 4096}
    with torch.device("meta"):
        model = DualAfr(vocabulary=12_594, sizes=sizes)

    weights = {name: sum(part.numel() for part in align.parameters()) for name, align in model.align.items()}
    assert weights == {"pool2": 22_478_848 + 512, "pool3": 16_384_000 + 512, "pool4": 7_077_888 + 512, "pool5": 0}
    assert model.place.memory.weight.shape == (512, 2048)
    assert model.layer.memory.weight.shape == (512, 512)
    assert model.start.weight.shape == (512, 4096)
    assert model.cell.weight_ih.shape == (4 * 512, 300 + 512)


def test_hard_training_reads_every_caption_several_times() -> None:
    model = make(hard=True, samples=4).train()
    batch = CaptionBatch(["a"], torch.tensor([0]), torch.tensor([[5, 6, EOS]]), torch.tensor([0]))

    context = make_loss_context(model, video(16), batch, tables={}, pairs=1)
    assert context.video_of.tolist() == [0, 0, 0, 0]
    loss = model.loss(context)
    assert 0 < float(loss.detach()) < 2 * math.log(9)  # per word, and the model knows nothing yet
    loss.backward()
    assert model.place.score.weight.grad.count_nonzero() > 0
    assert model.align["pool2"].convolution.weight.grad.count_nonzero() > 0


def test_the_first_word_is_no_choice_of_hard_attention() -> None:
    model = make(hard=True, samples=2).train()
    state = model.encode(video(16))

    assert teacher_forced(model, state, torch.tensor([[EOS]])).terms[CHOICE].item() == 0
    assert teacher_forced(model, state, torch.tensor([[5, EOS]])).terms[CHOICE].item() < 0


def test_the_loss_of_hard_attention_is_the_bound_per_word() -> None:
    model = make(hard=True, samples=4, dropout=0.0).train()
    words = torch.tensor([[5, 6, EOS], [7, EOS, 0]])
    context = make_loss_context(
        model, video(16), CaptionBatch(["a"], torch.tensor([0, 0]), words, torch.arange(2)), tables={}, pairs=2
    )

    torch.manual_seed(0)
    found = model.loss(context)
    torch.manual_seed(0)
    log_p = -context.score(context.state).nll.view(2, 4)

    torch.testing.assert_close(found, -(log_p.logsumexp(1) - math.log(4)).sum() / 5)


@pytest.mark.parametrize(
    ("options", "inputs", "message"),
    [
        ({"layers": "pool1 pool5"}, SIZES, "layers has pool1, allowed: pool2 pool3 pool4 pool5"),
        ({}, {"fc7": 6}, "layers pool2 pool3 pool4 pool5 need a store in features.motion; fc7 alone is layers ''"),
        ({"layers": "pool3"}, {"pool3": 3, "fc7": 6}, "layers are aligned with pool5, which the run leaves out"),
        ({"align": "crop"}, SIZES, "align is 'crop', allowed: conv, mlp, max, average, hypercolumn"),
        ({"hard": True, "samples": 1}, SIZES, "samples is 1, allowed: 2 or more"),
    ],
)
def test_impossible_options_say_what_is_allowed(options: dict[str, Any], inputs: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(inputs, **options)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "mlp"])
def test_pictures_reach_no_further_than_themselves_in_time(kind: str) -> None:
    """Rows of an image network's stages, 16, 8, 4 and 2 cells wide: a grid of 2 x 2 for each picture."""
    for name, level in LEVELS.items():
        torch.manual_seed(0)
        align = make_alignment(kind, name, channels=CHANNELS[name], width=5)
        side = 2 * level.ratio
        values = torch.rand(1, 3, side, side, CHANNELS[name])
        both = align(Modality(values, torch.ones(1, 3, dtype=torch.bool)))
        alone = align(Modality(values[:, :1], torch.ones(1, 1, dtype=torch.bool)))

        assert both.shape == (1, 5, 3, 2, 2)
        if kind != "conv":  # a convolution sees the neighbours
            torch.testing.assert_close(both[:, :, :1], alone)


def test_levels_of_pictures_are_captioned() -> None:
    """Padding after a video's last picture changes nothing."""
    widths = {"pool2": 16, "pool3": 8, "pool4": 4, "pool5": 2}
    stages = {name: torch.rand(1, 2, side, side, CHANNELS[name]) for name, side in widths.items()}
    fc7 = Modality(torch.rand(1, 2, 6), torch.ones(1, 2, dtype=torch.bool))
    model = make(align="max")

    def logits(rows: int) -> Tensor:
        maps = {
            name: torch.cat([each, torch.full((1, rows - 2, *each.shape[2:]), 9.0)], 1) for name, each in stages.items()
        }
        mask = torch.arange(rows).unsqueeze(0) < 2
        state = model.encode({name: Modality(each, mask) for name, each in maps.items()} | {"fc7": fc7})
        moved = model.step(model.step(state, torch.tensor([BOS])).state, torch.tensor([5]))
        return model.logits(moved.output)

    torch.testing.assert_close(logits(2), logits(4))


def test_rows_may_have_several_steps_of_the_highest_level() -> None:
    """I3D's: 8, 4 and 2 steps of 14, 7 and 4 cells for 16 frames. Longer neighbours change nothing."""
    shapes = {"pool3": (8, 14), "pool4": (4, 7), "pool5": (2, 4)}
    levels = {name: torch.rand(1, 1, steps, side, side, CHANNELS[name]) for name, (steps, side) in shapes.items()}
    fc7 = Modality(torch.rand(1, 1, 6), torch.ones(1, 1, dtype=torch.bool))
    model = make({name: SIZES[name] for name in (*shapes, "fc7")}, align="max", layers=" ".join(shapes))

    def second_word(rows: int) -> tuple[Tensor, Tensor]:
        maps = {
            name: torch.cat([each, torch.full((1, rows - 1, *each.shape[2:]), 9.0)], 1) for name, each in levels.items()
        }
        mask = torch.arange(rows).unsqueeze(0) < 1
        state = model.encode({name: Modality(each, mask) for name, each in maps.items()} | {"fc7": fc7})
        step = model.step(model.step(state, torch.tensor([BOS])).state, torch.tensor([5]))
        return step.output, step.attention["place"]

    (alone, places), (padded, more) = second_word(1), second_word(3)
    assert (places.shape, more.shape) == ((1, 2 * 4 * 4), (1, 3 * 2 * 4 * 4))
    torch.testing.assert_close(alone, padded)
    torch.testing.assert_close(more[:, :32], places)
