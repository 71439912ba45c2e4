"""What captions: one trained run, or an ensemble of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.base import Captioner, Features
from models.parts.ensemble import Ensemble, joined
from pipeline.captioner import FeatureBatches, FeatureSource, TrainedRun, open_run
from pipeline.captioning.attention_geometry import AttentionGeometry, shared_geometry
from pipeline.core import InputError
from pipeline.corpus import Vocabulary


@dataclass(frozen=True)
class JoinedSource:
    """What several runs read; runs that read the same stores share one reading."""

    sources: Sequence[FeatureSource]

    def batch(self, video_ids: Sequence[str], *, device: str = "cpu") -> Features:
        read: dict[object, Features] = {}
        for source in self.sources:
            if _reads(source) not in read:
                read[_reads(source)] = source.batch(video_ids, device=device)
        return joined([read[_reads(source)] for source in self.sources])


def _reads(source: FeatureSource) -> object:
    return tuple((name, source.stores[each.slot].folder, each.tensor) for name, each in source.inputs.items())


@dataclass(frozen=True)
class CaptionModel:
    """One run, or an ensemble."""

    model: Captioner
    source: FeatureBatches
    stores: FeatureSource  # of the run, or of the first of several
    vocabulary: Vocabulary
    geometry: AttentionGeometry


def open_caption_model(folders: Sequence[Path], *, device: str) -> CaptionModel:
    runs = open_runs(folders, device=device)
    geometry = shared_geometry([AttentionGeometry(run.model, run.source) for run in runs])
    if len(runs) == 1:
        return CaptionModel(runs[0].model, runs[0].source, runs[0].source, runs[0].vocabulary, geometry)
    together = JoinedSource([run.source for run in runs])
    ensemble = Ensemble([run.model for run in runs])
    return CaptionModel(ensemble, together, runs[0].source, runs[0].vocabulary, geometry)


def open_runs(folders: Sequence[Path], *, device: str) -> list[TrainedRun]:
    """Trained runs that number their words alike."""
    runs = [open_run(folder, device=device) for folder in folders]
    for folder, run in zip(folders, runs, strict=True):
        if run.vocabulary != runs[0].vocabulary:
            raise InputError(
                f"{folder} and {folders[0]} have different vocabularies: their words cannot be averaged",
                hint=f"dvc repro train@{folder.name} train@{folders[0].name}",
            )
    return runs
