"""Every table of the page as plain cells, numbers as the page shows them: what is saved as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.papers import PaperTable
from pipeline.report.charts import Chart
from pipeline.report.figures import Figures
from pipeline.report.index_summary import IndexSummary
from pipeline.report.seed_rows import SeedRow
from pipeline.report.store_facts import StoreFacts

NOTHING = "–"
WHY = ("video", "reason", "detail")

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ShownTable:
    key: str  # by which the page finds its files
    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def shown_tables(page: Mapping[str, Any]) -> list[ShownTable]:
    """Of all that `page.html` is given; tables without a row are not on the page."""
    found = [
        *_score_tables(page),
        *_seed_table(page["seed_rows"], page["metrics"]),
        _slice_table(page),
        *(_paper_table(table) for table in page["papers"]),
        *(_chart_table(chart) for chart in (*page["charts"], *page["figures"].masks)),
        *_figure_tables(page["figures"]),
        *_decoding_tables(page["library"], page["statistics"]),
        *_store_tables(page["stores"]),
        *(_pairs(f"provenance {name}", f"Provenance of {name}", rows) for name, rows in page["provenance"].items()),
    ]
    return [table for table in found if table.rows]


def number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def difference(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.3f}".replace("-", "−")


def interval(ends: tuple[float, float] | None) -> str:
    return NOTHING if ends is None else f"{number(ends[0])} – {number(ends[1])}"


def spread(score: tuple[float, float] | None) -> str:
    return NOTHING if score is None else f"{number(score[0])} ± {number(score[1])}"


def percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.1f}"


def _score_tables(page: Mapping[str, Any]) -> Iterable[ShownTable]:
    """What the page puts below each score has a table of its own."""
    names, cells, metrics = [run.name for run in page["runs"]], page["score_rows"], page["metrics"]
    base = [("baseline", *(number(page["baseline"].get(metric)) for metric in metrics))] if page["baseline"] else []
    parts: tuple[tuple[str, str, Callable[[Any], str], list[tuple[str, ...]]], ...] = (
        ("scores", "Scores", lambda cell: number(cell.value), base if names else []),
        ("differences", "Differences to the most frequent training caption", lambda cell: difference(cell.gain), []),
        ("intervals", "95 % intervals of the scores", lambda cell: interval(cell.interval), []),
    )
    for key, caption, told, more in parts:
        rows = [(name, *map(told, row)) for name, row in zip(names, cells, strict=True)]
        yield ShownTable(key, caption, ("run", *metrics), [*_telling(rows), *more])


def _telling(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """None, where there is not one number in any row."""
    return rows if any(cell != NOTHING for row in rows for cell in row[1:]) else []


def _seed_table(rows: Sequence[SeedRow], metrics: Sequence[str]) -> Iterable[ShownTable]:
    found = [(row.name, *(spread(row.scores.get(metric)) for metric in metrics)) for row in rows]
    yield ShownTable("seeds", "Mean and spread over runs that differ only by seed", ("runs", *metrics), found)


def _slice_table(page: Mapping[str, Any]) -> ShownTable:
    rows = [(name, *(number(cell.value) for cell in cells)) for name, cells in page["slice_rows"].items()]
    return ShownTable("slices", f"{page['headline']} by slice", ("slice", *(run.name for run in page["runs"])), rows)


def _paper_table(table: PaperTable) -> ShownTable:
    """A published row, and below it that of the run here."""
    rows: list[tuple[str, ...]] = []
    for line in table.lines:
        rows.append((line.row, *line.published, "" if line.ours else "".join(line.remarks)))
        if line.ours:
            rows.append((f"here: {line.run}", *line.ours, "; ".join(line.remarks)))
    return ShownTable(f"{table.recipe} {table.title}", table.title, ("row", *table.metrics, "remarks"), rows)


def _chart_table(chart: Chart) -> ShownTable:
    rows = [(epoch, *cells) for epoch, cells in chart.table]
    columns = (chart.axis, *(line.name for line in chart.lines))
    return ShownTable(f"chart {chart.key}", f"{chart.title} by {chart.axis}", columns, rows)


def _figure_tables(figures: Figures) -> Iterable[ShownTable]:
    for counts in figures.words:
        rows = [(word, kind, str(times)) for word, kind, times in counts.words]
        yield ShownTable(f"words {counts.name}", f"Frequent words of {counts.name}", ("word", "class", "times"), rows)
    shares = [(counts.name, *(percent(counts.shares[kind]) for kind in figures.classes)) for counts in figures.words]
    views = [
        (f"{name}, mean weight of ST beside TS", *(number(weights.get(kind)) for kind in figures.classes))
        for name, weights in figures.views.items()
    ]
    yield ShownTable(
        "classes", "Share of each word class, percent", ("captions of", *figures.classes), [*shares, *views]
    )
    spice = [(name, *(percent(found.get(kind)) for kind in figures.kinds)) for name, found in figures.spice]
    yield ShownTable("spice", "SPICE of every run by kind of fact", ("run", *figures.kinds), spice)


def _decoding_tables(library: IndexSummary, statistics: Pairs) -> Iterable[ShownTable]:
    yield ShownTable("quarantined", "Videos that cannot be used", WHY, library.quarantined)
    yield _pairs("warnings", "Warnings of the decoder", library.warnings)
    yield _pairs("statistics", "Caption statistics", statistics)


def _store_tables(stores: Sequence[StoreFacts]) -> Iterable[ShownTable]:
    columns = ("store", "videos", "rows", "MB", "frames/s", "tensors of a row", "failed", "fingerprint")
    yield ShownTable("stores", "What every extractor computed", columns, [_store_row(store) for store in stores])
    for store in stores:
        yield ShownTable(f"failed {store.name}", f"Videos without features in {store.name}", WHY, store.failures)


def _store_row(store: StoreFacts) -> tuple[str, ...]:
    if store.problem:
        return store.name, store.problem, *[""] * 6
    speed = f"{store.speed:.3g}" if store.speed else NOTHING
    size = str(store.videos), f"{store.rows:,}", f"{store.megabytes:.1f}"
    return store.name, *size, speed, "; ".join(store.tensors), str(len(store.failures)), store.fingerprint[:12]


def _pairs(key: str, caption: str, rows: Pairs) -> ShownTable:
    return ShownTable(key, caption, ("key", "value"), rows)
