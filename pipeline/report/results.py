"""What the stages before the report left on disk, read leniently: unknown keys pass, wrong shapes stop."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core import FEWEST_VIDEOS, ORDER, DamageError, InputError, printable, read_sealed_json
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
    weights: Path = Path("data/weights")


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
    first_reading: str | None = None  # only where it was asked for


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
    def videos(self) -> int:
        return self.scores.videos or len(self.answers.predictions)

    @property
    def tells(self) -> bool:
        """Of so many videos that scores, their order and their intervals mean anything."""
        return self.videos >= FEWEST_VIDEOS

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Of an older evaluation of too few videos none, though its file has some."""
        return self.scores.intervals if self.tells else {}

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
    known = read_sealed_json(record, hint=repro(f"train@{name}")) if record.is_file() else {}
    return ReportedRun(
        name=name,
        scores=read_scores(name, sources=sources),
        answers=read_as(PredictionFile, sources.predictions / f"{name}.json", again=repro(f"caption@{name}")),
        evaluation=read_as(ReportedEvaluation, evaluation, again=repro(f"evaluate@{name}"))
        if evaluation.is_file()
        else ReportedEvaluation(),
        curves=read_curves(sources.metrics / name / "curves.csv", sha256=known.get("curves_sha256"), run=name),
        record=known,
        mask=read_as(MaskCurves, mask, again=f"framescribe mask {name}") if mask.is_file() else None,
        looks=read_attention_maps(attention_maps_path(sources.predictions / f"{name}.json"), stage=f"caption@{name}"),
    )


def read_scores(name: str, *, sources: Sources, again: str = "") -> ReportedScores:
    """`again` makes them again where no stage of the graph does."""
    return read_as(ReportedScores, sources.metrics / name / "scores.json", again=again or repro(f"evaluate@{name}"))


def read_captions(folder: Path) -> Captions:
    return read_as(Captions, folder / "captions.json", again=repro("assemble"))


def repro(stage: str) -> str:
    return f"dvc repro --force {stage}"


def read_curves(path: Path, *, sha256: str | None, run: str) -> dict[str, list[tuple[float, float]]]:
    """Every numeric column against the epoch; none where there is no record of the run to check the file against."""
    if not path.is_file() or sha256 is None:
        return {}
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        told = f"{path} is not the learning curve of {run}: its checksum in run.json does not fit"
        raise DamageError(told, hint=f"git checkout {path}, or {repro(f'train@{run}')}")
    return curves_of(data.decode())


def curves_of(text: str) -> dict[str, list[tuple[float, float]]]:
    """Empty and non-finite cells are left out."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in csv.DictReader(io.StringIO(text)):
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


def read_as(kind: type[FileModel], path: Path, *, again: str) -> FileModel:
    """`again` is the command that makes the file again."""
    try:
        return kind.model_validate(read_sealed_json(path, hint=again))
    except ValidationError as error:
        first = error.errors()[0]
        where = printable(".".join(str(part) for part in first["loc"]))
        raise InputError(f"{path} is malformed at '{where}': {first['msg']}", hint=again) from error


def metric_names(scores: Sequence[dict[str, float]]) -> list[str]:
    """The usual metrics in the usual order, then any others by name."""
    found = {name for table in scores for name in table}
    return [name for name in ORDER if name in found] + sorted(found - set(ORDER))
