"""Sentences for the clips that a fold holds out, by one model or by several as one, in several ways of decoding."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.folds.recipe import OpenModel, open_model
from experiments.folds.training import FoldRun
from models.base import Captioner
from models.parts.ensemble import Ensemble
from pipeline.captioner import FeatureBatches, caption_videos
from pipeline.captioning import JoinedSource
from pipeline.captioning.chosen_search import chosen_search  # behind the door, where this name is the module's
from pipeline.core import file_sha256, read_sealed_json, write_sealed_json
from pipeline.params import Caption

TOGETHER = "together"  # instead of a seed


@dataclass(frozen=True)
class FoldSentences:
    """What the runs of one fold, which differ by their seeds, say of its held-out clips."""

    runs: Sequence[FoldRun]
    decoding: str
    caption: Caption
    clips: Sequence[str]

    @property
    def name(self) -> str:
        first = self.runs[0]
        seed = f"{first.seed}" if len(self.runs) == 1 else TOGETHER
        return f"{first.recipe.name}-fold{first.fold}-{seed}.{self.decoding}"

    @property
    def path(self) -> Path:
        return self.runs[0].results / "sentences" / f"{self.name}.json"

    @property
    def seconds(self) -> Path:
        return self.runs[0].results / "seconds" / f"{self.name}.json"

    def is_done(self) -> bool:
        """Of models that are no longer these, or of another setting, they are made again: that takes a minute."""
        if not (self.path.is_file() and all(run.weights.is_file() for run in self.runs)):
            return False
        return read_sealed_json(self.path, hint=f"remove {self.path}")["decided_by"] == self._decided_by()

    def decode(self) -> None:
        """Judges are captions of the fold's own training clips: `captions` has no others."""
        before = time.process_time()
        opened = [open_model(run.folder) for run in self.runs]
        search = chosen_search(
            self.caption,
            vocabulary=opened[0].vocabulary,
            captions=self.runs[0].captions,
            training=opened[0].source,
            own=opened[0].source,
        )
        model, source = _as_one(opened)
        said = caption_videos(model, source, self.clips, vocabulary=opened[0].vocabulary, search=search)
        sentences = {clip: each.caption for clip, each in said.items()}
        write_sealed_json(self.seconds, {"decoding": round(time.process_time() - before, 3)})
        write_sealed_json(self.path, {"decided_by": self._decided_by(), "sentences": sentences})

    def _decided_by(self) -> dict[str, object]:
        weights = [file_sha256(run.weights) for run in self.runs]
        captions = file_sha256(self.runs[0].captions / "captions.json")
        return {"caption": self.caption.deciding, "weights": weights, "captions": captions}


def _as_one(opened: Sequence[OpenModel]) -> tuple[Captioner, FeatureBatches]:
    if len(opened) == 1:
        return opened[0].model, opened[0].source
    return Ensemble([each.model for each in opened]), JoinedSource([each.source for each in opened])
