"""Every captioner on a simulated GPU: loss, backward pass, search, self-critical training, ensemble, reranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch

from models.base import Captioner, Features, Modality
from models.parts.ensemble import Ensemble, joined
from pipeline.captioner.batches import CaptionBatch
from pipeline.captioner.build_model import inputs_of, known_models
from pipeline.captioner.search import Search, search_readings
from pipeline.captioner.teacher_forcing import make_loss_context
from pipeline.captioning.reranker import RerankerSettings, train_reranker
from pipeline.corpus.corpus import Corpus
from pipeline.corpus.vocabulary import SPECIALS, Vocabulary
from pipeline.params.train import Schedule
from pipeline.training.regularisation import regularised
from pipeline.training.rewards import Rewards
from pipeline.training.schedules import make_optimizer
from pipeline.training.self_critical import draw_captions, judge_captions, self_critical_loss
from tests.gpu.simulated import COUNT, GPU, SECOND, simulated_gpu
from tests.models.test_captioners import CASES, VOCABULARY, build

VIDEOS = ["one", "other"]
NAMES = [*VIDEOS, "third"]  # the number of every video is COUNT, when the program asks for it
CAPTIONS = {video: ["a red ball", "a ball"] for video in NAMES}
WORDS = Vocabulary((*SPECIALS, *(f"word{number}" for number in range(VOCABULARY - len(SPECIALS)))))
every_model = pytest.mark.parametrize(
    "name", [name if name in known_models() else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
every_model_slowly = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in CASES])


def features(name: str, device: str) -> Features:
    rows = {each: torch.randn(len(VIDEOS), 5, *CASES[name].shape(each)) for each in CASES[name].inputs}
    mask = torch.ones(len(VIDEOS), 5, dtype=torch.bool)
    return {each: Modality(values.to(device), mask.to(device)) for each, values in rows.items()}


def captions() -> CaptionBatch:
    """As many captions, and words in each, as the simulation counts."""
    words = torch.full((COUNT, COUNT), len(SPECIALS))
    return CaptionBatch(VIDEOS, torch.arange(COUNT), words, torch.arange(COUNT))


def loss_of(model: Captioner, features: Features, *, half: bool) -> torch.Tensor:
    """As in training, with the model's own words now and then; on a GPU in bfloat16."""
    with torch.autocast(GPU, torch.bfloat16, enabled=half):
        context = make_loss_context(model, features, captions(), tables={}, pairs=COUNT, own_words=0.5, smoothing=0.1)
        return model.loss(context)


@every_model
def test_loss_and_search(name: str) -> None:
    with simulated_gpu():
        model = build(name).to(GPU)
        found = search_readings(model.eval(), features(name, GPU), Search(3, 3), videos=VIDEOS, first_reading=True)
        for stage in model.stages or [""]:
            model.train().begin(stage)
            assert loss_of(model, features(name, GPU), half=True).device.type == "cuda"

    assert len(found) == len(VIDEOS)
    assert all(each.device.type == "cpu" for best, _ in found for each in best.attention.values())


@every_model_slowly
def test_updates_of_all_weights(name: str) -> None:
    with simulated_gpu():
        model = build(name).to(SECOND).train()
        for stage in model.stages or [""]:
            model.begin(stage)
            optimizer = make_optimizer(model, Schedule())
            loss_of(model, features(name, SECOND), half=False).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        learnt = [each.grad for each in model.parameters() if each.grad is not None]
    assert {str(each.device) for each in learnt} == {SECOND}


@every_model_slowly
@pytest.mark.parametrize("baseline", ["greedy", "others"])
def test_self_critical_step(name: str, baseline: str) -> None:
    video_of = torch.arange(len(VIDEOS)).repeat_interleave(2)
    rewards = Rewards(CAPTIONS, {"cider": 1.0})
    with simulated_gpu():
        model = build(name).to(SECOND).train()
        state = model.encode(features(name, SECOND))
        drawn, log_prob = draw_captions(
            model, state, NAMES, video_of=video_of.to(SECOND), max_words=3, baseline=baseline
        )
        (judgement,) = judge_captions([drawn], rewards=rewards, vocabulary=WORDS, max_words=3)
        loss = self_critical_loss(log_prob, judgement)
        loss.backward()

    assert str(loss.device) == SECOND


def test_ensemble() -> None:
    names = ["mean_pool", "soft_attention-frames"]
    with simulated_gpu():
        together = Ensemble([build(name) for name in names]).to(GPU).eval()
        given = joined([features(name, GPU) for name in names])
        found = search_readings(together, given, Search(3, 3), videos=VIDEOS, first_reading=True)

    assert len(found) == len(VIDEOS)


def test_regularisation() -> None:
    inputs = inputs_of("transformer")
    stage = Schedule(feature_dropout=0.1, slot_dropout=0.2, frame_dropout=0.3)
    with simulated_gpu():
        model, given = build("transformer").to(GPU).train(), features("transformer", GPU)
        left = regularised(given, stage, inputs)
        with torch.autocast(GPU, torch.bfloat16):
            loss = model.loss(make_loss_context(model, left, captions(), tables={}, pairs=COUNT, word_dropout=0.1))

    assert {each.values.device.type for each in left.values()} == {"cuda"}
    assert loss.device.type == "cuda"


@dataclass(frozen=True)
class Rows:
    """Features of any videos."""

    def batch(self, video_ids: Sequence[str], *, device: str = "cpu") -> Features:
        mask = torch.ones(len(video_ids), 3, dtype=torch.bool)
        return {"appearance": Modality(torch.randn(len(video_ids), 3, 5).to(device), mask.to(device))}


def test_reranker() -> None:
    """Batches, and the sentences of validation, are as many as the simulation counts."""
    sentences = {"a": ["a red ball", "a ball"], "b": ["red", "blue"], "one": ["a red ball"], "other": ["a ball"]}
    corpus = Corpus({"train": ["a", "b"], "val": VIDEOS, "test": VIDEOS}, sentences)
    words = Vocabulary.build(corpus.sentences("train"))
    with simulated_gpu():
        reranker, _ = train_reranker(
            corpus,
            words,
            Rows(),
            settings=RerankerSettings(epochs=1, batch_size=COUNT, word_size=4, size=6),
            max_words=COUNT,
            device=SECOND,
        )
        assert str(reranker.similarities("one", ["a red ball", "a ball"]).device) == SECOND
