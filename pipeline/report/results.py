"""What the stages before the report left on disk, read leniently: unknown keys pass, wrong shapes stop."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core import ORDER, InputError, printable
from pipeline.predictions import AttentionMaps, attention_maps_path, read_attention_maps

HEADLINE = "CIDEr-D"  # the metric that chooses the checkpoint is the one that orders the page


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where the stages write; the defaults are the paths of `dvc.yaml`."""

    captions: Path = Path("data/captions")
    index: Path = Path("data/index")
    features: Path = Path("features")
    predictions: Path = Path("predictions")
    metrics: Path = Path("metrics")
    evaluation: Path = Path("evaluation")
    runs: Path = Path("runs")


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Captions(_Lenient):
    splits: dict[str, list[str]]
    captions: dict[str, list[str]]
    slices: dict[str, str] = {}


class PredictionEntry(_Lenient):
    caption: str
    log_prob: float | None = None
    words: list[str] = []


class PredictionFile(_Lenient):
    split: str = "test"
    looks: dict[str, Any] = {}  # what the attention maps of all videos share
    predictions: dict[str, PredictionEntry]


class ReportedScores(_Lenient):
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]] = {}  # 95 %, over resampled videos
    spice: dict[str, float] = {}  # kind of fact -> mean F score
    most_frequent_caption: dict[str, float] = {}
    slices: dict[str, dict[str, float]] = {}
    videos: int | None = None


class MaskCurves(_Lenient):
    """What `framescribe mask` wrote."""

    ratios: list[float]
    modules: dict[str, dict[str, list[float]]]  # module -> metric -> one value per ratio
    videos: int = 0


class ReportedEvaluation(_Lenient):
    per_video: dict[str, dict[str, float]] = {}
    baseline: dict[str, Any] = {}
    provenance: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """One trained captioner with everything known about it."""

    name: str
    scores: ReportedScores
    answers: PredictionFile
    evaluation: ReportedEvaluation
    curves: dict[str, list[tuple[float, float]]]  # column -> (epoch, value)
    record: dict[str, Any]  # runs/<run>/run.json
    mask: MaskCurves | None = None
    looks: dict[str, AttentionMaps] = field(default_factory=dict)  # video -> attention per word of its caption

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        return {
            slot: facts
            for slot, facts in (self.record.get("features") or {}).items()
            if isinstance(facts, dict) and facts.get("store") != "none"
        }

    @property
    def untrained(self) -> list[str]:
        """Slots fed by networks with random weights: their scores say nothing about the backbone."""
        return [slot for slot, facts in self.features.items() if facts.get("untrained")]


@dataclass(frozen=True, kw_only=True)
class MissingRun:
    name: str
    file: Path

    @property
    def command(self) -> str:
        return f"dvc repro evaluate@{self.name}"


def read_runs(names: Sequence[str], *, sources: Sources) -> tuple[list[ReportedRun], list[MissingRun]]:
    """The runs that were evaluated, and those of `params.yaml` that were not yet."""
    missing = missing_runs(names, sources=sources)
    absent = {run.name for run in missing}
    return [_read_run(name, sources=sources) for name in names if name not in absent], missing


def missing_runs(names: Sequence[str], *, sources: Sources) -> list[MissingRun]:
    return [MissingRun(name=name, file=file) for name in names if (file := _absent(name, sources=sources))]


def _absent(name: str, *, sources: Sources) -> Path | None:
    needed = (sources.predictions / f"{name}.json", sources.metrics / name / "scores.json")
    return next((path for path in needed if not path.is_file()), None)


def _read_run(name: str, *, sources: Sources) -> ReportedRun:
    evaluation = sources.evaluation / f"{name}.json"
    record = sources.runs / name / "run.json"
    mask = sources.metrics / name / "mask.json"
    return ReportedRun(
        name=name,
        scores=read_scores(name, sources=sources),
        answers=read_as(PredictionFile, sources.predictions / f"{name}.json", stage=f"caption@{name}"),
        evaluation=read_as(ReportedEvaluation, evaluation, stage=f"evaluate@{name}")
        if evaluation.is_file()
        else ReportedEvaluation(),
        curves=read_curves(sources.metrics / name / "curves.csv"),
        record=read_json(record, stage=f"train@{name}") if record.is_file() else {},
        mask=read_as(MaskCurves, mask, stage=f"train@{name}") if mask.is_file() else None,
        looks=read_attention_maps(attention_maps_path(sources.predictions / f"{name}.json"), stage=f"caption@{name}"),
    )


def read_scores(name: str, *, sources: Sources) -> ReportedScores:
    return read_as(ReportedScores, sources.metrics / name / "scores.json", stage=f"evaluate@{name}")


def read_captions(folder: Path) -> Captions:
    return read_as(Captions, folder / "captions.json", stage="assemble")


def read_curves(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Every numeric column against the epoch; empty and non-finite cells are left out."""
    if not path.is_file():
        return {}
    curves: dict[str, list[tuple[float, float]]] = {}
    with path.open(newline="") as stream:
        for line in csv.DictReader(stream):
            epoch = _number(line.pop("epoch", None))
            line.pop("stage", None)  # a label, not a curve
            for column, cell in line.items():
                value = _number(cell)
                if epoch is not None and value is not None:
                    curves.setdefault(column, []).append((epoch, value))
    return curves


def _number(cell: str | None) -> float | None:
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


FileModel = TypeVar("FileModel", bound=BaseModel)


def read_as(kind: type[FileModel], path: Path, *, stage: str) -> FileModel:
    try:
        return kind.model_validate(read_json(path, stage=stage))
    except ValidationError as error:
        first = error.errors()[0]
        where = printable(".".join(str(part) for part in first["loc"]))
        raise InputError(f"{path} is malformed at '{where}': {first['msg']}", hint=f"dvc repro {stage}") from error


def read_json(path: Path, *, stage: str) -> Any:
    if not path.is_file():
        raise InputError(f"{path} is not here", hint=f"dvc repro {stage}")
    try:
        return json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}", hint=f"dvc repro --force {stage}") from error


def metric_names(scores: Sequence[dict[str, float]]) -> list[str]:
    """The usual metrics in the usual order, then any others by name."""
    found = {name for table in scores for name in table}
    return [name for name in ORDER if name in found] + sorted(found - set(ORDER))
