"""What is written beside a sentence belongs to that video alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from models.base import Features, Modality
from models.vatex_spatial import VatexSpatial
from pipeline.captioner.generate import caption_videos
from pipeline.captioner.search import Search
from pipeline.corpus.vocabulary import Vocabulary

LENGTHS = {"short": 2, "long": 5}


class Toy:
    """Two videos of different length, three objects a row."""

    def batch(self, video_ids: Sequence[str], *, device: str = "cpu") -> Features:
        longest = max(LENGTHS[video] for video in video_ids)
        mask = torch.stack([torch.arange(longest) < LENGTHS[video] for video in video_ids])
        rows = [torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(len(video))) for video in video_ids]
        objects = torch.stack(rows)[:, :longest]  # (B, L, 3, 4)
        return {"appearance": Modality(objects.mean(2), mask), "objects": Modality(objects.to(device), mask)}


def test_neighbours_do_not_change_what_is_recorded() -> None:
    vocabulary = Vocabulary.build(["a red ball moves"])
    torch.manual_seed(0)
    model = VatexSpatial(vocabulary=len(vocabulary), sizes={"appearance": 4, "objects": 4}, hidden_size=8)
    settings = {"vocabulary": vocabulary, "search": Search(beam=2, max_words=4)}

    together = caption_videos(model, Toy(), ["short", "long"], **settings)
    alone = caption_videos(model, Toy(), ["short"], **settings)

    assert together["short"].words == alone["short"].words != []
    assert {len(line) for line in together["short"].attention["region"]} == {2 * 3}
    assert {len(line) for line in together["long"].attention["region"]} == {5 * 3}
    for one, other in zip(together["short"].attention["region"], alone["short"].attention["region"], strict=True):
        assert one == pytest.approx(other, abs=2e-4)
