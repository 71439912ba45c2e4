"""The stage `report`: the page, its pictures and the tables beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline.catalogue import CARDS
from pipeline.core import (
    UNGUARDED,
    Console,
    InputError,
    StageInputs,
    read_sealed_json,
    sweep,
    unchanged,
    write_bytes,
)
from pipeline.index import VideoIndex, read_index
from pipeline.papers import RECIPES, PaperTable
from pipeline.params import Params, Report, params_in_use
from pipeline.predictions import attention_maps_path, origin_path
from pipeline.report import browser, index_summary, origin, page, results, store_facts
from pipeline.report.csv_tables import write_tables
from pipeline.report.paper_tables import read_tables, runs_shown, weight_records
from pipeline.report.results import (
    Captions,
    MissingRun,
    ReportedRun,
    ReportedScores,
    Sources,
    metric_names,
    missing_runs,
    read_scores,
)
from pipeline.report.shown_tables import shown_tables
from pipeline.report.table_files import table_links, tables_beside, write_table_files
from pipeline.store import MANIFEST

PAGE = Path("report/index.html")
TABLES = Path("tables")
NO_PAPERS = "no paper's table is of this data set and split   next: framescribe paper, then framescribe paper NAME"
BASELINE = "most frequent caption"


def report_project(params: Params, *, out: Path = PAGE, show_only: bool = False, console: Console) -> dict[str, Any]:
    """The page of the runs of params.yaml; with `show_only` its tables on the terminal, and nothing is rebuilt."""
    sources = Sources()
    if show_only:
        papers = read_tables(params, sources=sources)
        return show(list(params.train), sources=sources, page=out, papers=papers, console=console)
    for folder in (sources.features, sources.runs, sources.predictions, sources.evaluation, sources.captions):
        sweep(folder)  # what a killed stage left is no input of the page
    in_use = params_in_use(params, "report", "dataset", "train", "extract")
    with (
        unchanged([RECIPES, CARDS], values=in_use) as described,  # first: a recipe is read to know which runs are shown
        unchanged(_files_read(params, sources), values=described.changes) as inputs,
    ):
        return make_report(
            dataset=params.dataset.name,
            runs=list(params.train),
            extractors=list(params.extract),
            sources=sources,
            out=out,
            tables=TABLES,
            params=params.report,
            papers=read_tables(params, sources=sources),
            console=console,
            inputs=inputs,
        )


def _files_read(params: Params, sources: Sources) -> list[Path]:
    """Of every run and store that the page shows; a store by its manifest, a run by its record."""
    runs = [
        path
        for name in runs_shown(params)
        for path in (
            sources.predictions / f"{name}.json",
            attention_maps_path(sources.predictions / f"{name}.json"),
            origin_path(sources.predictions / f"{name}.json"),
            sources.evaluation / f"{name}.json",
            sources.metrics / name,
            sources.runs / name / "run.json",
        )
    ]
    stores = [sources.features / name / MANIFEST for name in params.extract]
    return [sources.captions, sources.index, *runs, *stores, *weight_records(sources.weights)]


def make_report(
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
    inputs: StageInputs = UNGUARDED,
) -> dict[str, Any]:
    """Write the page of all `runs` that were evaluated, and their `tables`; name the command that makes each other."""
    found, missing = results.read_runs(runs, sources=sources)
    captions, index = results.read_captions(sources.captions), read_index(sources.index)
    file = sources.captions / "statistics.json"
    statistics = read_sealed_json(file, hint=results.repro("assemble")) if file.is_file() else {}
    folder = browser.folder_beside(out)
    videos = _write_videos(
        folder, found, captions, index, films=params.examples, console=console, last_check=inputs.require_unchanged
    )
    facts = page.page_facts(
        dataset=dataset,
        runs=found,
        missing=missing,
        captions=captions,
        statistics=statistics,
        library=index_summary.summarise(index),
        stores=store_facts.read_stores(extractors, folder=sources.features),
        videos=videos,
        folder=folder.name,
        origin=origin.code_version(Path(__file__).parent),
        papers=papers,
    )
    shown, beside = shown_tables(facts), tables_beside(out)
    write_table_files(beside, shown)
    html = page.render(facts, table_files=table_links(beside, shown))
    write_bytes(out, html.encode(errors="replace"))  # a file name that is not UTF-8 must not cost the page
    if tables:
        write_tables(tables, found)
    _print_papers(papers, console)
    _name_missing(missing, console)
    if told := page.subset_told(statistics):
        console.say(told)
    console.say(f"report: {out} ({len(found)} runs, {videos} videos)")
    return {"page": str(out), "runs": [one.name for one in found], "missing": [one.name for one in missing]}


def _write_videos(
    folder: Path,
    runs: Sequence[ReportedRun],
    captions: Captions,
    index: VideoIndex,
    *,
    films: int,
    console: Console,
    last_check: Callable[[], None],
) -> int:
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
            last_check=last_check,
        )


def show(
    runs: Sequence[str], *, sources: Sources, page: Path, papers: Sequence[PaperTable] = (), console: Console
) -> dict[str, Any]:
    """The table of scores, the papers' tables, and where the page is."""
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


def _print_scores(scores: dict[str, ReportedScores], console: Console) -> None:
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
    if not papers:
        console.say(NO_PAPERS)


def _name_missing(missing: Sequence[MissingRun], console: Console) -> None:
    for one in missing:
        console.say(f"not here yet: {one.name}   next: {one.command}")
