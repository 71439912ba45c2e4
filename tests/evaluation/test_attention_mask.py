"""The curve of a run: the whole score first, and less as more is masked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
import torch

from models.base import Features, Modality
from models.mean_pool import MeanPool
from models.soft_attention import SoftAttention
from pipeline.captioner.trained_run import TrainedRun
from pipeline.core.console import SILENT
from pipeline.core.errors import InputError
from pipeline.corpus.corpus import Corpus
from pipeline.corpus.vocabulary import Vocabulary
from pipeline.evaluation.attention_mask import MaskedRun
from pipeline.params.caption import Caption

VIDEOS = ["one", "two"]


class Toy:
    def batch(self, video_ids: Sequence[str], *, device: str = "cpu") -> Features:
        rows = torch.stack([torch.randn(5, 4, generator=torch.Generator().manual_seed(len(id_))) for id_ in video_ids])
        return {"appearance": Modality(rows.to(device), torch.ones(len(video_ids), 5, dtype=torch.bool))}


def probe(kind: Any, **options: int) -> MaskedRun:
    corpus = Corpus(splits={"test": VIDEOS}, captions={video: ["a red ball", "a ball"] for video in VIDEOS})
    vocabulary = Vocabulary.build(["a red ball moves"])
    torch.manual_seed(0)
    model = kind(vocabulary=len(vocabulary), sizes={"appearance": 4}, hidden_size=8, word_size=4, **options)
    run = TrainedRun(cast("Any", None), model, vocabulary, cast("Any", Toy()))
    return MaskedRun(run, corpus, Caption(beam=1, max_words=4), VIDEOS, "cpu")


def test_every_module_has_a_value_for_every_ratio() -> None:
    found = probe(SoftAttention, attention_size=4).curves(ratios=(0.0, 1.0), progress=SILENT)

    assert found["ratios"] == [0.0, 1.0]
    assert list(found["modules"]) == ["attention"]
    assert {metric: len(values) for metric, values in found["modules"]["attention"].items()} == dict.fromkeys(
        ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D"], 2
    )


def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(InputError, match="no attention that could be masked"):
        probe(MeanPool).modules()
