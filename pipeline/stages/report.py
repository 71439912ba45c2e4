"""The HTML page: scores beside a baseline, learning curves, and example clips with what every run said."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console

if TYPE_CHECKING:
    from pipeline.index import VideoIndex
    from pipeline.papers.tables import PaperTable
    from pipeline.params import Report
    from pipeline.report.results import Captions, MissingRun, Run, Scores, Sources

PAGE = Path("report/index.html")
TABLES = Path("tables")
BASELINE = "most frequent caption"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=PAGE, help="the page (default: %(default)s)")
    parser.add_argument("--show", action="store_true", help="print the scores and the page's path, rebuild nothing")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params
    from pipeline.report.papers import read_tables
    from pipeline.report.results import Sources

    params = load_params()
    papers = read_tables(params, sources=Sources())
    if args.show:
        return show(list(params.train), sources=Sources(), page=args.out, papers=papers, console=console)
    return run(
        dataset=params.dataset.name,
        runs=list(params.train),
        extractors=list(params.extract),
        sources=Sources(),
        out=args.out,
        tables=TABLES,
        params=params.report,
        papers=papers,
        console=console,
    )


def run(
    *,
    dataset: str,
    runs: Sequence[str],
    extractors: Sequence[str] = (),
    sources: Sources,
    out: Path,
    tables: Path | None = None,
    params: Report,
    papers: Sequence[PaperTable] = (),
    console: Console,
) -> dict[str, Any]:
    """Write the page of all `runs` that were evaluated, and their `tables`; name the command that makes each other."""
    from pipeline.index import read_index
    from pipeline.publish import write_bytes
    from pipeline.report import browser, features, library, origin, page, results
    from pipeline.report.tables import write_tables

    found, missing = results.read_runs(runs, sources=sources)
    captions, index = results.read_captions(sources.captions), read_index(sources.index)
    statistics = sources.captions / "statistics.json"
    folder = browser.folder_beside(out)
    videos = _write_videos(folder, found, captions, index, films=params.examples, console=console)
    html = page.render(
        dataset=dataset,
        runs=found,
        missing=missing,
        captions=captions,
        statistics=results.read_json(statistics, stage="assemble") if statistics.is_file() else {},
        library=library.summarise(index),
        stores=features.read_stores(extractors, folder=sources.features),
        videos=videos,
        folder=folder.name,
        origin=origin.code_version(Path(__file__).parent),
        papers=papers,
    )
    write_bytes(out, html.encode(errors="replace"))  # a file name that is not UTF-8 must not cost the page
    if tables:
        write_tables(tables, found)
    _print_papers(papers, console)
    _name_missing(missing, console)
    console.say(f"report: {out} ({len(found)} runs, {videos} videos)")
    return {"page": str(out), "runs": [one.name for one in found], "missing": [one.name for one in missing]}


def _write_videos(
    folder: Path, runs: Sequence[Run], captions: Captions, index: VideoIndex, *, films: int, console: Console
) -> int:
    from pipeline.report import browser, page

    answered = {video for run in runs for video in run.answers.predictions}
    with console.progress("report", len(answered)) as progress:
        return browser.write_videos(
            folder,
            runs=runs,
            metrics=page.video_metrics(runs),
            captions=captions,
            index=index,
            films=films,
            progress=progress,
        )


def show(
    runs: Sequence[str], *, sources: Sources, page: Path, papers: Sequence[PaperTable] = (), console: Console
) -> dict[str, Any]:
    """The table of scores, the papers' tables, and where the page is."""
    from pipeline.errors import InputError
    from pipeline.report.results import missing_runs, read_scores

    if not page.is_file():
        raise InputError(f"there is no report at {page}", hint="dvc repro report")
    missing = missing_runs(runs, sources=sources)
    absent = {one.name for one in missing}
    scores = {name: read_scores(name, sources=sources) for name in runs if name not in absent}
    _print_scores(scores, console)
    _print_papers(papers, console)
    _name_missing(missing, console)
    console.say(f"report: {page.resolve()}")
    return {"page": str(page), "scores": {name: found.scores for name, found in scores.items()}}


def _print_scores(scores: dict[str, Scores], console: Console) -> None:
    from pipeline.report.results import metric_names

    baseline = next((found.most_frequent_caption for found in scores.values() if found.most_frequent_caption), {})
    tables = {BASELINE: baseline} | {name: found.scores for name, found in scores.items()}
    metrics = metric_names(list(tables.values()))
    rows = [[name, *(table.get(metric, "-") for metric in metrics)] for name, table in tables.items() if table]
    if rows:
        console.table(["run", *metrics], rows)


def _print_papers(papers: Sequence[PaperTable], console: Console) -> None:
    """Tables of which a run exists; the others by the command that begins them."""
    for table in papers:
        if table.has_runs:
            columns = ("row", *table.metrics, "run here", *(f"our {metric}" for metric in table.metrics), "differs")
            blank = ["-"] * len(table.metrics)
            rows = [
                (line.row, *line.published, line.run or "-", *(line.ours or blank), "; ".join(line.remarks))
                for line in table.lines
            ]
            console.table(columns, rows, title=table.title)
    begun = {table.recipe for table in papers if table.has_runs}
    others = dict.fromkeys(table.recipe for table in papers if table.recipe not in begun)
    if others:
        console.say(f"papers without a run here: {', '.join(others)}   next: framescribe paper NAME")


def _name_missing(missing: Sequence[MissingRun], console: Console) -> None:
    for one in missing:
        console.say(f"not here yet: {one.name}   next: {one.command}")
