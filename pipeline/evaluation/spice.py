"""SPICE with its sub-scores, when its jar and the CoreNLP models are there; neither can be part of a package."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pipeline.core import HERE, Executor, MissingToolError, shares
from pipeline.metrics import SPICE, JavaError, JavaProcess, JavaRuntime, jar_path

VARIABLE = "FRAMESCRIBE_SPICE"
JAR = "spice-1.0.jar"
MODELS = ("lib/stanford-corenlp-3.6.0.jar", "lib/stanford-corenlp-3.6.0-models.jar")
KINDS = ("Object", "Attribute", "Relation", "Cardinality", "Color", "Size")
# It says nothing until it ends: the time that loading may take, and each caption (60,000 take about half an hour).
LOADING, CAPTION = 600.0, 0.1  # seconds
WORTH = 2_000  # captions that take about a minute, which loading the parser's models may take
Kinds = dict[str, dict[str, float]]  # kind -> video -> F score; a video without anything of a kind is absent


def spice_folder() -> Path:
    """The folder of spice-1.0.jar with the models in its lib/, or an error that says what is missing and whence."""
    named = os.environ.get(VARIABLE)
    folder = Path(named) if named else jar_path(SPICE).parent
    absent = [name for name in (JAR, *MODELS) if not (folder / name).is_file()]
    if absent:
        raise MissingToolError(
            f"SPICE is left out: {named or 'the pycocoevalcap package'} has no {' and no '.join(absent)}",
            hint=f"put both jars of stanford-corenlp-full-2015-12-09.zip into lib/ beside {JAR} and set {VARIABLE} "
            "to that folder",
        )
    return folder


@dataclass(frozen=True)
class Slice:
    """Some of the videos: a video's score depends on its own captions alone."""

    id: str
    hypotheses: Mapping[str, str]
    references: Mapping[str, Sequence[str]]

    @property
    def captions(self) -> int:
        return len(self.hypotheses) + sum(len(self.references[video]) for video in self.hypotheses)


@dataclass(frozen=True)
class ScoreSlice:
    """Work for an executor."""

    java: JavaRuntime
    folder: Path
    timeout: float | None = None
    takes_hours: ClassVar[bool] = True

    def __call__(self, part: Slice) -> tuple[dict[str, float], Kinds]:
        limit = self.timeout or LOADING + CAPTION * part.captions
        with tempfile.TemporaryDirectory(prefix="framescribe-spice-") as work:
            asked, answered = Path(work) / "asked.json", Path(work) / "answered.json"
            entries = [{"image_id": v, "test": t, "refs": list(part.references[v])} for v, t in part.hypotheses.items()]
            asked.write_text(json.dumps(entries))
            options = ["-Xmx8G", "-jar", str(self.folder / JAR), str(asked), "-out", str(answered)]
            command = [str(self.java.path), *options, "-subset", "-silent"]
            with JavaProcess(command, name="SPICE", timeout=limit) as spice:
                spice.wait()
                return _parse(answered, videos=list(part.hypotheses), last_words=spice.last_words())


def score_spice(
    hypotheses: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    *,
    java: JavaRuntime,
    folder: Path,
    timeout: float | None = None,
    executor: Executor = HERE,
) -> tuple[dict[str, float], Kinds]:
    """The F score of every video, and those of its sub-scores, in the order of the hypotheses."""
    whole = Slice("SPICE", hypotheses, references)
    each: dict[str, float] = {}
    found: Kinds = {kind: {} for kind in KINDS}
    parts = _cut(whole, shares(executor, whole.captions // WORTH))
    for scores, kinds in executor.map(ScoreSlice(java, folder, timeout), parts):
        each |= scores
        for kind in KINDS:
            found[kind] |= kinds[kind]
    ordered = {
        kind: {video: values[video] for video in hypotheses if video in values} for kind, values in found.items()
    }
    return {video: each[video] for video in hypotheses}, ordered


def _cut(whole: Slice, count: int) -> list[Slice]:
    videos = list(whole.hypotheses)
    parts = [videos[n::count] for n in range(count)]
    return [
        Slice(f"SPICE {n}", {v: whole.hypotheses[v] for v in part}, {v: whole.references[v] for v in part})
        for n, part in enumerate(parts)
    ]


def _parse(path: Path, *, videos: Sequence[str], last_words: str) -> tuple[dict[str, float], Kinds]:
    try:
        scores = {str(entry["image_id"]): entry["scores"] for entry in json.loads(path.read_text())}
        each = {video: _f(scores[video]["All"]) or 0.0 for video in videos}
        kinds = {kind: {video: _f(scores[video].get(kind, {})) for video in videos} for kind in KINDS}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = f"SPICE ended without a score for each video ({error!r}); its last words: {last_words}"
        raise JavaError(told) from error
    return each, {kind: {v: f for v, f in found.items() if f is not None} for kind, found in kinds.items()}


def _f(score: Mapping[str, Any]) -> float | None:
    """SPICE writes null, or NaN, for what there is nothing of."""
    value = score.get("f")
    return float(value) if value is not None and math.isfinite(float(value)) else None
