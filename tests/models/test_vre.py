"""VRE: the key-frame GRU, the corrected refocusing loss, and the stages of its training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.base import Features, Modality
from models.vre import KeyFrameGru, Vre, refocus_loss, start
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.build_model import build_captioner
from pipeline.captioner.teacher_forcing import make_loss_context
from pipeline.core.errors import UsageError

SIZES = {"appearance": 5, "places": 4, "sound": 3}
WORDS = torch.tensor([[4, 5, 2], [6, 2, 0], [7, 8, 2]])
BATCH = CaptionBatch(["a", "b", "c"], torch.arange(3), WORDS, torch.arange(3))


def build(**options: object) -> Vre:
    torch.manual_seed(0)
    return Vre(vocabulary=9, sizes=SIZES, hidden_size=6, **options)  # type: ignore[arg-type]


def videos(lengths: tuple[int, ...] = (4, 7, 2)) -> Features:
    generator = torch.Generator().manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    shapes = {"appearance": (5,), "places": (2, 2, 4), "sound": (3,)}
    return {
        name: Modality(torch.randn(*mask.shape, *shape, generator=generator), mask) for name, shape in shapes.items()
    }


def one_by_one(gru: KeyFrameGru, frames: Tensor, key: int) -> Tensor:
    """Equations 5-7 as they stand, for one video without padding."""
    back = gru.back(frames[: key + 1].flip(0).unsqueeze(0))[1][0, 0]
    ahead = gru.ahead(frames[key:].unsqueeze(0))[1][0, 0]
    return torch.tanh(gru.combine(torch.cat([back, ahead])))


def test_a_batch_of_key_frame_grus_equals_one_video_at_a_time() -> None:
    torch.manual_seed(0)
    gru = KeyFrameGru(channels=5, hidden=6)
    frames = torch.randn(20, 20, 5)
    lengths = torch.tensor([20] * 10 + [1, 2, 3, 7, 7, 7, 12, 12, 19, 19])
    keys = torch.tensor([0, 1, 5, 9, 10, 11, 15, 18, 19, 19, 0, 1, 2, 0, 3, 6, 0, 11, 0, 18])

    batched = gru(gru.gates(frames), lengths, keys)

    for row, (length, key) in enumerate(zip(lengths.tolist(), keys.tolist(), strict=True)):
        torch.testing.assert_close(batched[row], one_by_one(gru, frames[row, :length], key), atol=1e-6, rtol=0)


def test_the_first_reading_begins_at_the_middle() -> None:
    model = build().eval()
    features = videos((20, 20))
    encoder = model.encoder
    assert encoder is not None
    frames = features["appearance"].values

    expected = torch.stack([one_by_one(encoder.read, video, 10) for video in frames])
    sound = features["sound"].values.mean(1)
    torch.testing.assert_close(
        model.encode(features)["first"], torch.tanh(encoder.hear(torch.cat([expected, sound], 1))), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize(("better", "loss"), [(0.5, 0.0527), (-0.5, 1.1513), (0.0, 0.0)])
def test_corrected_refocusing_loss(better: float, loss: float) -> None:
    found = refocus_loss(torch.tensor([better]), torch.tensor([0.9]))

    assert found.item() == pytest.approx(loss, abs=5e-5)


@pytest.mark.parametrize(("better", "direction"), [(0.5, -1), (-0.5, 1)])
def test_a_key_frame_that_did_worse_becomes_less_likely(better: float, direction: int) -> None:
    focus = torch.tensor([0.9], requires_grad=True)
    refocus_loss(torch.tensor([better]), focus).sum().backward()

    assert focus.grad is not None
    assert torch.sign(focus.grad).item() == direction


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_certainty_keeps_the_loss_finite(precision: torch.dtype) -> None:
    """A video of one frame is certain of it."""
    sure = torch.tensor([0.0, 1.0, 1.0], dtype=precision)

    assert refocus_loss(torch.tensor([1.0, -1.0, 0.0]), sure).isfinite().all()


def test_rewards_are_kept_for_each_caption_and_compared_with_the_epoch_before() -> None:
    model, tables = build(dropout=0.0, refocus_weight=1.0), {}
    first = make_loss_context(model, videos(), BATCH, tables=tables, pairs=5)
    without = model.loss(first).item()
    read = [first.score(state) for state in (first.state | start(first.state["first"]), first.state)]
    reward = read[0].nll - read[1].nll
    torch.testing.assert_close(tables["reward"][:3], reward.detach())
    assert tables["reward"][3:].isnan().all()
    assert without == pytest.approx((read[0].loss + read[1].loss).sum().item() / 8)

    tables["reward"] -= torch.tensor([0.5, -0.5, 0.0, 0.0, 0.0])
    again = make_loss_context(model, videos(), BATCH, tables=tables, pairs=5)
    expected = refocus_loss(torch.tensor([0.5, -0.5, 0.0]), again.state["focus"]).sum().item() / 8
    assert model.loss(again).item() - without == pytest.approx(expected, abs=1e-5)


def test_a_reward_per_word_is_the_mean_over_the_caption() -> None:
    rewards = {}
    for per_word in (False, True):
        model, tables = build(dropout=0.0, reward_per_word=per_word), {}
        model.loss(make_loss_context(model, videos(), BATCH, tables=tables, pairs=3))
        rewards[per_word] = tables["reward"]

    lengths = (BATCH.words != 0).sum(1)
    assert len(set(lengths.tolist())) > 1
    torch.testing.assert_close(rewards[True], rewards[False] / lengths)


def test_a_quiet_reward_is_not_disturbed_by_dropout() -> None:
    """Nor by own words: both would differ from seed to seed, as they do in the paper's reward."""
    same = {}
    for quiet in (True, False):
        rewards = []
        for seed in range(2):
            model, tables = build(quiet_reward=quiet).train(), {}
            torch.manual_seed(seed)
            model.loss(make_loss_context(model, videos(), BATCH, tables=tables, pairs=3, own_words=0.5))
            rewards.append(tables["reward"])
            assert model.training
        same[quiet] = torch.equal(*rewards)

    assert same == {True: True, False: False}


def test_the_decoder_starts_from_the_video_not_from_a_word() -> None:
    model = build().eval()
    state = model.encode(videos())

    begun = [model.step(state, torch.full((3,), word)) for word in (1, 5)]
    later = [model.step(begun[0].state, torch.full((3,), word)) for word in (1, 5)]

    assert torch.equal(begun[0].output, begun[1].output)
    assert not torch.equal(later[0].output, later[1].output)


def test_sizes_of_the_paper() -> None:
    model = Vre(vocabulary=100, sizes={"appearance": 2048, "places": 2048, "sound": 128})

    given = model.see.in_features + model.see_places.in_features + model.cell.input_size
    assert (given, model.cell.hidden_size) == (4736, 512)


def test_a_step_equals_an_lstm_that_reads_what_was_seen() -> None:
    """Algorithm 2 as it stands: the attended frames and places, sound and the word before, through one cell."""
    model, features = build().eval(), videos()
    state = model.encode(features)
    moved = model.step(state, torch.ones(3, dtype=torch.long))
    whole = torch.nn.LSTMCell(5 + 4 + model.cell.input_size, model.cell.hidden_size)
    whole.load_state_dict(
        model.cell.state_dict()
        | {"weight_ih": torch.cat([model.see.weight, model.see_places.weight, model.cell.weight_ih], 1)}
    )
    frames, mask = features["appearance"]
    cells = features["places"].values.flatten(2, 3)  # (B, K, n, C)
    means = (cells * mask[:, :, None, None]).sum(1) / mask.sum(1)[:, None, None]
    seen = torch.einsum("bk,bkc->bc", moved.attention["time"], frames)
    places = torch.einsum("bn,bnc->bc", moved.attention["place"], means)

    hidden, _ = whole(torch.cat([seen, places, state["sound"], state["video"]], 1), (state["hidden"], state["cell"]))

    torch.testing.assert_close(moved.output, hidden, atol=1e-6, rtol=0)


def test_the_first_stage_reads_once_and_trains_step_one_only() -> None:
    model = build().train()
    model.begin("first")
    context = make_loss_context(model, videos(), BATCH, tables={}, pairs=3)
    model.loss(context).backward()

    assert "focus" not in context.state
    untouched = {name.rsplit(".", 1)[0] for name, each in model.encoder.named_parameters() if each.grad is None}  # type: ignore[union-attr]
    assert untouched == {"attend.query", "attend.memory", "attend.score", "merge"}


def test_constant_key_frames_are_those_of_the_model_before_and_stay() -> None:
    model = build().train()
    for parameter in model.parameters():
        parameter.data.normal_(0, 1)
    before = model.encode(videos())["key"]
    words = model.embed.weight.clone()

    model.begin("constant")
    afresh = not torch.equal(model.embed.weight, words)
    context = make_loss_context(model, videos(), BATCH, tables={}, pairs=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.loss(context).backward()
    optimizer.step()

    assert afresh
    assert torch.equal(model.encode(videos())["key"], before)
    assert context.tables == {}
    assert all(each.grad is None for each in model.scout.parameters())  # type: ignore[union-attr]


def test_constant_key_frames_stay_when_such_a_stage_begins_again() -> None:
    """For instance in a run that starts from another one, whose last stage had constant key frames too."""
    model = build()
    for parameter in model.parameters():
        parameter.data.normal_(0, 1)
    before = model.encode(videos((12, 20, 9)))["key"]

    for _ in range(2):
        model.begin("constant")

    assert torch.equal(model.encode(videos((12, 20, 9)))["key"], before)


def test_the_stage_travels_with_the_weights() -> None:
    model, other = build(), build()
    for stage in ("joint", "constant"):
        model.begin(stage)
    other.load_state_dict(model.state_dict())

    assert int(other.phase) == int(model.phase)
    assert torch.equal(other.eval().encode(videos())["key"], model.eval().encode(videos())["key"])


def test_a_video_without_sound_has_zeros_for_it() -> None:
    model = build().eval()
    features = dict(videos())
    values, mask = features["sound"]
    silent = features | {"sound": Modality(values[:, :0], mask[:, :0])}
    zeros = features | {"sound": Modality(torch.zeros_like(values), mask)}

    torch.testing.assert_close(model.encode(silent)["video"], model.encode(zeros)["video"])


def test_an_unknown_way_to_watch_lists_the_known() -> None:
    with pytest.raises(UsageError, match="vre: watch is 'twice'; known: refocus, once, never"):
        build_captioner("vre", vocabulary=9, sizes=SIZES, options={"watch": "twice"})
