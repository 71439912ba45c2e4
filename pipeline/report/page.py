"""Puts everything the report knows into its page. The page has no date in it: equal inputs give equal bytes."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.core import FEWEST_VIDEOS
from pipeline.corpus import told_subset
from pipeline.papers import PaperTable
from pipeline.report.charts import Chart, chart
from pipeline.report.figures import make_figures
from pipeline.report.index_summary import IndexSummary
from pipeline.report.results import HEADLINE, Captions, MissingRun, ReportedRun, metric_names
from pipeline.report.seed_rows import seed_rows
from pipeline.report.shown_tables import difference, interval, number, percent, spread
from pipeline.report.store_facts import StoreFacts

SCRIPTS = ("views.js", "browser.js")
LISTED = 12  # entries of a list that provenance spells out: a vocabulary is longer
COLORS = 8  # run colours in the style sheet; later runs begin again, with their names beside them


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One score, with what a reader compares it to."""

    value: float | None
    gain: float | None = None  # above the baseline
    interval: tuple[float, float] | None = None  # 95 %, over resampled videos
    share: float = 0.0  # of the largest value in its column or table, 0 to 1
    best: bool = False


def page_facts(
    *,
    dataset: str,
    runs: Sequence[ReportedRun],
    missing: Sequence[MissingRun],
    captions: Captions,
    statistics: dict[str, Any],
    library: IndexSummary,
    stores: Sequence[StoreFacts],
    videos: int,
    folder: str,
    origin: dict[str, str],
    papers: Sequence[PaperTable] = (),
) -> dict[str, Any]:
    """All that the page shows, by the names of its template."""
    sizes = _slice_sizes(runs, captions)
    return {
        "dataset": dataset,
        "runs": runs,
        "missing": missing,
        "captions": captions,
        "statistics": flatten(statistics),
        "subset_told": subset_told(statistics),
        "library": library,
        "stores": stores,
        "count": videos,
        "folder": folder,
        "origin": origin,
        "headline": HEADLINE,
        "baseline_caption": _baseline_caption(runs),
        "metrics": page_metrics(runs),
        "score_rows": score_rows(runs),
        "baseline": _baseline(runs),
        "papers": papers,
        "seed_rows": seed_rows(runs, metrics=page_metrics(runs)),
        "slice_rows": slice_rows(runs, sizes=sizes),
        "slice_sizes": sizes,
        "charts": charts(runs),
        "figures": make_figures(runs, captions),
        "leader": _leader(runs),
        "fewest": FEWEST_VIDEOS,
        "clip_slices": sorted(name for name in sizes if name),
        "provenance": {run.name: flatten(run.record | {"evaluation": run.evaluation.provenance}) for run in runs},
    }


def render(facts: Mapping[str, Any], *, table_files: Mapping[str, str]) -> str:
    """`table_files`: where the files of each table are, without ending."""
    environment = page_environment()
    return environment.get_template("page.html").render(
        facts,
        table_files=table_files,
        style=source_of(environment, "style.css"),
        **scripts_of(environment),
    )


def subset_told(statistics: Mapping[str, Any]) -> str:
    """What assemble did where not all of the data set was there; nothing otherwise."""
    if "subset" not in statistics:
        return ""
    return told_subset(**statistics["subset"], videos=sum(split["videos"] for split in statistics["splits"].values()))


def scripts_of(environment: Environment, names: Sequence[str] = SCRIPTS) -> dict[str, list[str]]:
    """The page's own scripts, and the hashes by which its policy knows them."""
    scripts = [source_of(environment, name) for name in names]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    return {"scripts": scripts, "script_hashes": hashes}


def page_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipeline.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["colors"] = COLORS
    environment.filters["anchor"] = lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower())
    environment.filters["amount"] = amount
    environment.filters |= {"number": number, "difference": difference, "interval": interval, "spread": spread}
    environment.filters["percent"] = percent
    return environment


def amount(number: int) -> str:
    """1234567 as "1.23 M": the reader compares sizes, not digits."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return str(number)


def source_of(environment: Environment, name: str) -> str:
    """A style sheet or script as it is: our own text, without expressions, so nothing in it is escaped."""
    loader = environment.loader
    return loader.get_source(environment, name)[0] if loader else ""


def page_metrics(runs: Sequence[ReportedRun]) -> list[str]:
    """The headline first, where a phone shows it without scrolling."""
    return sorted(metric_names([run.scores.scores for run in runs]), key=lambda name: name != HEADLINE)


def video_metrics(runs: Sequence[ReportedRun]) -> list[str]:
    """What single videos are scored by; BLEU of one sentence says little but at its highest order."""
    found = metric_names([scores for run in runs for scores in run.evaluation.per_video.values()])
    return sorted(
        (name for name in found if name not in ("BLEU-1", "BLEU-2", "BLEU-3")), key=lambda name: name != HEADLINE
    )


def score_rows(runs: Sequence[ReportedRun]) -> list[list[Cell]]:
    """One row per run, one cell per metric."""
    base = _baseline(runs)
    metrics = page_metrics(runs)
    columns = [_column([run.scores.scores.get(metric) for run in runs], base.get(metric)) for metric in metrics]
    return [
        [_told(column[row], run, metric) for metric, column in zip(metrics, columns, strict=True)]
        for row, run in enumerate(runs)
    ]


def _told(cell: Cell, run: ReportedRun, metric: str) -> Cell:
    """With its interval; of too few videos without it, and without a star."""
    return replace(cell, interval=run.intervals.get(metric), best=cell.best and run.tells)


def slice_rows(runs: Sequence[ReportedRun], *, sizes: Mapping[str, int]) -> dict[str, list[Cell]]:
    """slice -> one cell per run; one colour scale over the whole table; no star where the videos are too few."""
    names = sorted({name for run in runs for name in run.scores.slices})
    values = {name: [run.scores.slices.get(name, {}).get(HEADLINE) for run in runs] for name in names}
    largest = max((value for row in values.values() for value in row if value is not None), default=0.0)
    return {
        name: [
            replace(cell, best=cell.best and sizes.get(name, 0) >= FEWEST_VIDEOS)
            for cell in _column(row, None, largest=largest)
        ]
        for name, row in values.items()
    }


def _column(values: Sequence[float | None], base: float | None, *, largest: float | None = None) -> list[Cell]:
    """The cells of one metric, best marked by its shown digits so that a tie looks like one."""
    present = [value for value in values if value is not None]
    top = max(present, default=0.0)
    scale = (top if largest is None else largest) or 1.0
    return [
        Cell(
            value=value,
            gain=None if value is None or base is None else value - base,
            share=0.0 if value is None else max(0.0, round(value / scale, 3)),
            best=value is not None and len(present) > 1 and f"{value:.3f}" == f"{top:.3f}",
        )
        for value in values
    ]


def charts(runs: Sequence[ReportedRun]) -> list[Chart]:
    columns = list(dict.fromkeys(column for run in runs for column in run.curves))
    colors = {run.name: position for position, run in enumerate(runs)}
    kept = {run.name: float(run.record["best_epoch"]) for run in runs if "best_epoch" in run.record}
    return [
        chart(
            column,
            curves={run.name: run.curves[column] for run in runs if run.curves.get(column)},
            colors=colors,
            chosen=kept,
        )
        for column in columns
    ]


def flatten(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """A nested record as sorted (dotted key, text) pairs."""
    if not isinstance(value, dict):
        return [(prefix, _text(value))]
    inner: Iterable[tuple[str, Any]] = sorted((str(key), item) for key, item in value.items())
    return [pair for key, item in inner for pair in flatten(item, f"{prefix}.{key}" if prefix else key)]


def _text(value: Any) -> str:
    if isinstance(value, list):
        shown = ", ".join(_text(item) for item in value[:LISTED])
        return shown if len(value) <= LISTED else f"{shown}, … ({len(value)} entries)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _baseline(runs: Sequence[ReportedRun]) -> dict[str, float]:
    return next((run.scores.most_frequent_caption for run in runs if run.scores.most_frequent_caption), {})


def _baseline_caption(runs: Sequence[ReportedRun]) -> str:
    return next((str(run.evaluation.baseline["caption"]) for run in runs if "caption" in run.evaluation.baseline), "")


def _leader(runs: Sequence[ReportedRun]) -> ReportedRun | None:
    """The best of the runs that tell anything; where none does, of all."""
    scored = [run for run in runs if HEADLINE in run.scores.scores]
    return max(scored, key=lambda run: (run.tells, run.scores.scores[HEADLINE]), default=None)


def _slice_sizes(runs: Sequence[ReportedRun], captions: Captions) -> dict[str, int]:
    """How many of the captioned videos each slice has."""
    videos = {video for run in runs for video in run.answers.predictions}
    sizes: dict[str, int] = {}
    for video in videos:
        name = captions.slices.get(video, "")
        sizes[name] = sizes.get(name, 0) + 1
    return sizes
