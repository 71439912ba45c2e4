"""One trial: train a run on the clips of a slice, and keep its captions of those of validation and test."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pipeline.captioner import Search, caption_videos, load_model
from pipeline.core import FramescribeError, cache_folder, read_sealed_json, write_bytes, write_sealed_json
from pipeline.corpus import read_corpus, write_corpus
from pipeline.params import Caption, Train
from pipeline.training import Trainer, prepare

SPLITS = ("val", "test")
EVERYWHERE = "all"  # instead of a slice
SplitCaptions = dict[str, dict[str, str]]  # split -> video id -> caption


class TrialRun(NamedTuple):
    """A run and the clips that it is trained on."""

    run: Train
    clips: str  # a slice to learn from, or all

    @property
    def key(self) -> str:
        return f"{self.clips} {self.run.model_dump_json()}"


def slice_captions(captions: Path, label: str) -> Path:
    """A folder like `captions` with the clips of one slice alone, and the same vocabulary."""

    if label == EVERYWHERE:
        return captions
    corpus, folder = read_corpus(captions), cache_folder("mechanisms") / label
    splits = {name: [each for each in ids if corpus.slices[each] == label] for name, ids in corpus.splits.items()}
    write_corpus(folder, replace(corpus, splits=splits))
    write_bytes(folder / "vocabulary.json", (captions / "vocabulary.json").read_bytes())
    return folder


@dataclass(frozen=True)
class Trial:
    """Work for an executor. Captions are kept under all that decides them: a stopped comparison goes on."""

    captions: Path
    caption: Caption
    max_words: int  # in training
    device: str

    def __call__(self, trial: TrialRun) -> tuple[TrialRun, SplitCaptions]:
        captions = slice_captions(self.captions, trial.clips)
        trainer = prepare(trial.run, captions=captions, max_words=self.max_words, device=self.device)
        kept = cache_folder("mechanisms") / f"{trainer.folder.name}.json"
        try:
            return trial, read_sealed_json(kept, hint="")
        except FramescribeError:  # not there, or damaged
            found = self._trained(trainer)
        write_sealed_json(kept, found)
        shutil.rmtree(trainer.folder)
        return trial, found

    def _trained(self, trainer: Trainer) -> SplitCaptions:
        load_model(trainer.best_path(trainer.run()), trainer.model)
        return {split: self._captions(trainer, trainer.corpus.splits[split]) for split in SPLITS}

    def _captions(self, trainer: Trainer, videos: list[str]) -> dict[str, str]:
        generated = caption_videos(
            trainer.model,
            trainer.source,
            videos,
            vocabulary=trainer.vocabulary,
            search=Search.of(self.caption),
            device=self.device,
        )
        return {video: each.caption for video, each in generated.items()}
