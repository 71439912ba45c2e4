"""The captioner contract, over every model there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from models.base import Captioner, Features, Modality, select
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.build_model import build_captioner, inputs_of, known_models, require_stages
from pipeline.captioner.checkpoint import load_model, save_model
from pipeline.captioner.search import Search, beam_search
from pipeline.captioner.teacher_forcing import TokenLogits, caption_loss, make_loss_context, teacher_forced
from pipeline.core.errors import UsageError
from pipeline.corpus.vocabulary import BOS, EOS

VOCABULARY = 12
SIZE = 10
LONGEST = 20


@dataclass(frozen=True)
class Case:
    """A model small enough for a test."""

    model: str
    options: dict[str, Any] = field(default_factory=lambda: {"hidden_size": 32})
    rows: dict[str, tuple[int, ...]] = field(default_factory=dict)  # input -> shape of a row, where it is not (SIZE,)
    without: tuple[str, ...] = ()  # optional inputs that the run does not have
    idle: tuple[str, ...] = ()  # parts of names of parameters that these inputs leave nothing to learn

    @property
    def inputs(self) -> list[str]:
        return [name for name in inputs_of(self.model) if name not in self.without]

    def shape(self, name: str) -> tuple[int, ...]:
        return self.rows.get(name, (SIZE,))


# Every model there is, plainly; then those that need another shape, and variants under names of their own.
CASES: dict[str, Case] = {name: Case(name) for name in known_models()}
# Sides are a quarter of C3D's, so that pool5 has one place a row
C3D = {"pool2": (8, 8, 8, 1), "pool3": (4, 4, 4, 2), "pool4": (2, 2, 2, 3), "pool5": (1, 1, 1, 4)}
G2L = {"word_size": 16, "hidden_size": 32, "visual_size": 16, "aligned_size": 8, "attention_size": 16}
VATEX = {"word_size": 16, "hidden_size": 32, "video_size": 16, "attention_size": 16}
DUALAFR = {"word_size": 16, "hidden_size": 32, "attention_size": 16}
CASES |= {
    "soft_attention-frames": Case("soft_attention", without=("motion", "sound")),
    "g2l": Case("g2l", G2L, rows={"regions": (3, SIZE)}),
    "g2l-frames": Case("g2l", G2L, without=("motion", "regions")),
    "g2l-straight": Case("g2l", {**G2L, "sampler": "straight_through"}, rows={"regions": (3, SIZE)}),
    "g2l-argmax": Case("g2l", {**G2L, "sampler": "argmax"}, rows={"regions": (3, SIZE)}),
    "g2l-base": Case("g2l", {**G2L, "align": False, "key_frames": 0}, without=("regions",)),
    "vatex_temporal": Case("vatex_temporal", VATEX),
    "vatex_temporal-frames": Case("vatex_temporal", VATEX, without=("motion", "sound")),
    "vatex_spatial": Case("vatex_spatial", VATEX, rows={"objects": (3, SIZE)}),
    "vatex_spatial-vanilla": Case("vatex_spatial", {**VATEX, "attend": False}, rows={"objects": (3, SIZE)}),
    "dualafr": Case("dualafr", DUALAFR, rows=C3D),
    "dualafr-hard": Case("dualafr", {**DUALAFR, "hard": True, "samples": 5}, rows=C3D),
    "dualafr-fc7": Case("dualafr", {**DUALAFR, "layers": ""}, without=tuple(C3D)),
    "dualafr-pool3": Case("dualafr", {**DUALAFR, "layers": "pool3"}, rows=C3D),
}
CASES |= {
    f"dualafr-{kind}": Case("dualafr", {**DUALAFR, "align": kind}, rows=C3D)
    for kind in ("max", "average", "hypercolumn")
}
TRANSFORMER = {"word_size": 16, "hidden_size": 32, "heads": 2}
CASES |= {
    "transformer": Case("transformer", TRANSFORMER, rows={"regions": (3, SIZE), "label": (4,)}),
    "transformer-frames": Case("transformer", TRANSFORMER, without=("motion", "regions", "sound", "label")),
}
STATS = {"word_size": 16, "feature_size": 32, "hidden_size": 32, "attention_size": 16, "recall": 5}
CASES |= {
    "stats": Case("stats", STATS, rows={"appearance": (2, 2, SIZE), "motion": (2, 1, 6), "regions": (3, SIZE)}),
    "stats-frames": Case("stats", STATS, without=("motion", "regions", "label"), idle=(".place.",)),
    "stats-regions": Case("stats", STATS, rows={"appearance": (3, SIZE)}, without=("motion", "regions", "label")),
    "stats-ts": Case(
        "stats",
        {**STATS, "branches": "ts"},
        rows={"appearance": (2, 2, SIZE)},
        without=("motion", "regions", "label"),
    ),
    "vre": Case("vre", rows={"places": (2, 2, 6)}),
    "vre-frames": Case("vre", without=("places", "sound")),
    "vre-once": Case("vre", {"hidden_size": 32, "watch": "once"}, rows={"places": (2, 2, 6)}),
    "vre-never": Case("vre", {"hidden_size": 32, "watch": "never"}, rows={"places": (2, 2, 6)}, without=("sound",)),
}
CASES |= {
    f"stats-{pool}": Case(
        "stats",
        {**STATS, "branches": "st", "pool": pool},
        rows={"appearance": (2, 2, SIZE)},
        without=("motion", "regions", "label"),
    )
    for pool in ("mean", "lstm", "ranked", "attention", "mean+attention")
}


def build(name: str) -> Captioner:
    torch.manual_seed(0)
    case = CASES[name]
    sizes = {each: case.shape(each)[-1] for each in case.inputs}
    return build_captioner(case.model, vocabulary=VOCABULARY, sizes=sizes, options=case.options).eval()


def features(name: str, lengths: list[int], *, padded_to: int | None = None) -> Features:
    """Random rows; everything beyond a video's length is rubbish that must not matter."""
    longest = padded_to or max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
    found = {}
    for number, each in enumerate(CASES[name].inputs):
        shape, generator = CASES[name].shape(each), torch.Generator().manual_seed(number)
        values = torch.randn(len(lengths), LONGEST, *shape, generator=generator)[:, :longest].clone()
        values[~mask] = 1e3
        found[each] = Modality(values, mask.clone())
    return found


def word_loss(reading: TokenLogits) -> torch.Tensor:
    """Mean over the words."""
    read = caption_loss(reading, int(reading.captions.max()) + 1)
    return read.loss.sum() / read.words


every_model = pytest.mark.parametrize("name", CASES)


@every_model
def test_shapes(name: str) -> None:
    model = build(name)
    state = model.encode(features(name, [4, 7, 1]))
    step = model.step(state, torch.full((3,), BOS))

    assert all(len(tensor) == 3 for tensor in state.values())
    assert step.state.keys() == state.keys()  # what is cached of the words may grow
    assert model.logits(step.output).shape == (3, VOCABULARY)


@every_model
def test_padding_never_changes_a_result(name: str) -> None:
    model = build(name)
    words = torch.tensor([[5, 6, EOS], [7, 8, EOS]])

    tight = teacher_forced(model, model.encode(features(name, [4, 7])), words).logits
    padded = teacher_forced(model, model.encode(features(name, [4, 7], padded_to=15)), words).logits
    alone = teacher_forced(model, model.encode(features(name, [4])), words[:1]).logits

    torch.testing.assert_close(tight, padded, atol=1e-5, rtol=0)
    torch.testing.assert_close(tight.view(3, 2, -1)[:, 0], alone, atol=1e-5, rtol=0)


@every_model
def test_a_video_may_lack_all_rows_of_a_store(name: str) -> None:
    """Shorter than a window, it has none; a batch has one row of padding at least."""
    model, words = build(name), torch.tensor([[5, 6, EOS], [7, 8, EOS]])
    slots = {each: inputs_of(CASES[name].model)[each].slot for each in CASES[name].inputs}
    for lacked in set(slots.values()):
        given = features(name, [4, 7])
        for part in [given[each] for each in slots if slots[each] == lacked]:
            part.values[0], part.mask[0] = 0.0, part.mask.new_zeros(7)
        rows = {each: 1 if slot == lacked else 4 for each, slot in slots.items()}
        single = {each: Modality(*(whole[:1, : rows[each]] for whole in part)) for each, part in given.items()}

        together = teacher_forced(model, model.encode(given), words).logits.view(3, 2, -1)[:, 0]
        alone = teacher_forced(model, model.encode(single), words[:1]).logits

        assert together.isfinite().all()
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


@every_model
def test_finished_captions_leave_the_batch_and_nothing_else_changes(name: str) -> None:
    model = build(name)
    words = torch.tensor([[5, EOS, 0, 0], [7, 8, 9, EOS], [6, 4, EOS, 0]])
    state = model.encode(features(name, [4, 7, 2]))

    together = word_loss(teacher_forced(model, state, words))
    alone = [
        word_loss(teacher_forced(model, select(state, torch.tensor([row])), caption[caption != 0].unsqueeze(0)))
        for row, caption in enumerate(words)
    ]

    lengths = torch.tensor([2, 4, 3])
    torch.testing.assert_close(together, (torch.stack(alone) * lengths).sum() / lengths.sum())


@every_model
def test_attention_sums_to_one_over_real_rows(name: str) -> None:
    model = build(name)
    first = model.step(model.encode(features(name, [4, 7])), torch.full((2,), BOS))
    step = model.step(first.state, torch.full((2,), 5))  # dualAFR reads its first word without a look

    assert set(step.attention) <= {*model.attention_inputs, *model.columns()}
    for kind, weights in step.attention.items():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert kind != "time" or weights[0, 4:].count_nonzero() == 0


@every_model
def test_one_batch_can_be_memorised_and_every_parameter_learns(name: str) -> None:
    model = build(name).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    words = torch.tensor([[4, 5, 6, EOS], [7, 8, EOS, 0], [9, 10, 11, EOS]])
    given, tables = features(name, [4, 7, 2]), {}
    batch = CaptionBatch(["a", "b", "c"], torch.arange(3), words, torch.arange(3))
    unreached = to_be_trained(name, model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for update in range(150):
        loss = model.loss(make_loss_context(model, given, batch, tables=tables, pairs=3))
        optimizer.zero_grad()
        loss.backward()
        unreached = {key: each for key, each in unreached.items() if each.grad is None or not each.grad.any()}
        optimizer.step()
        if update % 10 == 9 and not unreached and read_loss(model, given, words) < 0.01:
            break

    assert read_loss(model, given, words) < 0.02
    assert list(unreached) == []
    sentences = beam_search(model.eval(), given, Search(3, 6))
    assert [sentence.words for sentence in sentences] == [[4, 5, 6], [7, 8], [9, 10, 11]]


@every_model
def test_half_precision_is_enough(name: str) -> None:
    """As on a GPU: mixed types must meet without an error, in training and in search."""
    model, given = build(name).train(), features(name, [4, 7])
    words = torch.tensor([[4, 5, EOS], [7, EOS, 0]])
    batch = CaptionBatch(["a", "b"], torch.arange(2), words, torch.arange(2))

    with torch.autocast("cpu", torch.bfloat16):
        loss = model.loss(make_loss_context(model, given, batch, tables={}, pairs=2))
    loss.backward()
    with torch.autocast("cpu", torch.bfloat16):
        sentences = beam_search(model.eval(), given, Search(2, 4))

    assert loss.isfinite()
    assert len(sentences) == 2


def to_be_trained(name: str, model: Captioner) -> dict[str, torch.nn.Parameter]:
    learning = {key: parameter for key, parameter in model.named_parameters() if parameter.requires_grad}
    return {key: each for key, each in learning.items() if not any(part in key for part in CASES[name].idle)}


@torch.no_grad()
def read_loss(model: Captioner, given: Features, words: torch.Tensor) -> float:
    model.eval()
    loss = word_loss(teacher_forced(model, model.encode(given), words)).item()
    model.train()
    return loss


@every_model
def test_a_saved_model_says_the_same(name: str, tmp_path: Path) -> None:
    model, words = build(name), torch.tensor([[5, 6, EOS], [7, 8, EOS]])
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    save_model(tmp_path / "model.safetensors", model)
    other = build(name)
    load_model(tmp_path / "model.safetensors", other)

    said = [teacher_forced(each, each.encode(features(name, [4, 7])), words).logits for each in (model, other)]
    assert torch.equal(*said)


@every_model
@pytest.mark.parametrize("width", [1, 3])
def test_a_searched_sentence_costs_what_teacher_forcing_says(name: str, width: int) -> None:
    model = build(name)
    given = features(name, [4, 7, 1])
    for video, sentence in enumerate(beam_search(model, given, Search(width, 5))):
        words = torch.tensor([[*sentence.words, EOS]])
        one = {
            slot: Modality(part.values[video : video + 1], part.mask[video : video + 1]) for slot, part in given.items()
        }
        logits = teacher_forced(model, model.encode(one), words).logits
        logits[:, [0, BOS, 3]] = -torch.inf
        log_probs = logits.log_softmax(-1).gather(1, words[0].unsqueeze(1))

        assert sentence.log_prob == pytest.approx(log_probs.sum().item(), abs=1e-4)


def test_select_repeats_videos() -> None:
    state = {"hidden": torch.arange(6).view(3, 2)}

    assert select(state, torch.tensor([2, 2, 0]))["hidden"].tolist() == [[4, 5], [4, 5], [0, 1]]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda: build_captioner("rnn", vocabulary=9, sizes={}, options={}),
            "there is no model 'rnn'; known: .*mean_pool, soft_attention",
        ),
        (
            lambda: build_captioner("mean_pool", vocabulary=9, sizes={"appearance": 4}, options={"hidden": 4}),
            "mean_pool has no option hidden; known options: word_size, hidden_size, dropout",
        ),
        (
            lambda: build_captioner("g2l", vocabulary=9, sizes={"appearance": 4}, options={"hidden_size": 64.0}),
            "g2l: hidden_size is 64.0, which must be a whole number, e.g. 768",
        ),
        (
            lambda: build_captioner("mean_pool", vocabulary=9, sizes={"appearance": 4}, options={"word_size": 0}),
            "mean_pool: word_size is 0, allowed: 1 or more",
        ),
        (
            lambda: build_captioner("vatex_temporal", vocabulary=9, sizes={"appearance": 4}, options={"attend": "no"}),
            "vatex_temporal: attend is 'no', which must be true or false, e.g. True",
        ),
        (
            lambda: build_captioner(
                "soft_attention", vocabulary=9, sizes={"appearance": 4}, options={"hidden_size": 9}
            ),
            "soft_attention: hidden_size is 9; the two directions of order share it: an even number",
        ),
        (
            lambda: build_captioner("stats", vocabulary=9, sizes={"appearance": 4}, options={"temperature": 0}),
            "stats: temperature is 0, allowed: above 0",
        ),
        (
            lambda: require_stages(build("mean_pool"), ["", "second"]),
            "the model has no stage 'second'; it has: none",
        ),
    ],
)
def test_impossible_models_and_options_say_what_is_allowed(act: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        act()
