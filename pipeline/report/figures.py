"""Figures of the papers, from the runs that are here; what is missing says how it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.report.charts import Chart, Points, chart
from pipeline.report.results import HEADLINE, Captions, ReportedRun
from pipeline.report.word_classes import CLASSES, Lexicon, WordCounts, count_words

SPICE_KINDS = ("Object", "Relation", "Attribute")  # those of G2L's figure; others follow


@dataclass(frozen=True, kw_only=True)
class Figures:
    words: list[WordCounts]  # of STaTS by views where such runs are here, else of every run; then of the references
    views: dict[str, dict[str, float]]  # run with both views -> class -> mean weight of ST
    masks: list[Chart]
    unmasked: list[str]  # runs with attention maps that nobody has masked
    spice: list[tuple[str, dict[str, float]]]
    kinds: list[str]
    classes: tuple[str, ...] = CLASSES


def make_figures(runs: Sequence[ReportedRun], captions: Captions) -> Figures:
    lexicon = Lexicon.of(text for texts in captions.captions.values() for text in texts)
    spice = [(run.name, run.scores.spice) for run in runs if run.scores.spice]
    kinds = {kind for _, found in spice for kind in found}
    return Figures(
        words=_word_counts(runs, captions, lexicon),
        views={run.name: found for run in runs if (found := _view_weights(run, lexicon))},
        masks=[_mask_chart(run) for run in runs if run.mask],
        unmasked=[run.name for run in runs if run.looks and not run.mask],
        spice=spice,
        kinds=[kind for kind in SPICE_KINDS if kind in kinds] + sorted(kinds - set(SPICE_KINDS)),
    )


def _word_counts(runs: Sequence[ReportedRun], captions: Captions, lexicon: Lexicon) -> list[WordCounts]:
    """ST beside TS as in the paper; without them every run, since nothing in this figure is STaTS's own."""
    views = [run for run in runs if _view(run) in ("st", "ts")]
    shown = views if len({_view(run) for run in views}) == 2 else runs
    counts = [
        count_words(run.name, [each.caption for each in run.answers.predictions.values()], lexicon) for run in shown
    ]
    videos = {video for run in runs for video in run.answers.predictions}
    people = [text for video in sorted(videos) for text in captions.captions.get(video, [])]
    return [*counts, count_words("references", people, lexicon)] if people and counts else counts


def _view(run: ReportedRun) -> str:
    params = run.record.get("params") or {}
    return str((params.get("options") or {}).get("branches", "")) if params.get("model") == "stats" else ""


def _view_weights(run: ReportedRun, lexicon: Lexicon) -> dict[str, float]:
    """class -> mean weight of the first view, over all words of that class in the run's captions."""
    found: dict[str, list[float]] = {}
    for video, looks in run.looks.items():
        if "view" in looks and video in run.answers.predictions:
            classes = lexicon.classes(run.answers.predictions[video].words)
            for kind, weights in zip(classes, looks["view"].tolist(), strict=False):
                found.setdefault(kind, []).append(weights[0])
    return {kind: sum(each) / len(each) for kind, each in sorted(found.items())}


def _mask_chart(run: ReportedRun) -> Chart:
    """Each module's score as a share of the score without a mask."""
    mask = run.mask
    if mask is None:
        raise ValueError(f"{run.name} has not been masked")
    curves: dict[str, Points] = {}
    for name, scores in mask.modules.items():
        values = scores[HEADLINE]
        whole = values[0] or 1.0
        curves[name] = [(ratio, value / whole) for ratio, value in zip(mask.ratios, values, strict=True)]
    return chart(
        f"mask {run.name}",
        curves=curves,
        colors={name: number for number, name in enumerate(curves)},
        chosen={},
        title=f"{run.name}: share of {HEADLINE} left",
        axis="masked share",
    )
