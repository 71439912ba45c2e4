"""The papers' tables on the page and on the terminal: what was scored here, handed to `pipeline.papers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.core import file_sha256, read_sealed_json
from pipeline.corpus import count_words, read_corpus, references_sha256
from pipeline.papers import Here, Made, PaperTable, Recipe, known_recipes, of_this_data, paper_tables, read_recipe
from pipeline.params import Dataset, Params
from pipeline.predictions import evaluate_command, prediction_name, read_origin
from pipeline.report.results import ReportedEvaluation, Sources, read_as, read_scores
from pipeline.runs import read_record


def read_tables(params: Params, *, sources: Sources) -> list[PaperTable]:
    """Of the papers that report this data set and split; none of it is read where there is none."""
    recipes = recipes_of(params.dataset)
    if not recipes:
        return []
    made = [_made(name, sources=sources) for name in runs_shown(params)]
    here = _here(params.dataset, sources=sources)
    return paper_tables(recipes, [each for each in made if each is not None], here=here, planned=params.train)


def recipes_of(dataset: Dataset) -> list[Recipe]:
    recipes = [read_recipe(name) for name in known_recipes()]
    return [recipe for recipe in recipes if of_this_data(recipe, dataset)]


def runs_shown(params: Params) -> list[str]:
    """The runs of params.yaml, and rows of papers that several commands make; each also on the splits of the tables."""
    tables = [table for recipe in recipes_of(params.dataset) for table in recipe.tables]
    several = [row.run for table in tables for row in table.rows if row.commands]
    names = list(dict.fromkeys([*params.train, *several]))
    splits = dict.fromkeys(table.split for table in tables)
    return names + [prediction_name(name, videos=split) for split in splits for name in names]


def weight_records(folder: Path) -> list[Path]:
    """What the stages `weights@<extractor>` wrote: names and hashes, also where the files themselves are not here."""
    return sorted(folder.glob("*.json"))


def _hashes(folder: Path) -> dict[str, str]:
    records = [read_sealed_json(path, hint=f"dvc repro weights@{path.stem}") for path in weight_records(folder)]
    return {record["weights"]: record["sha256"] for record in records if "sha256" in record}


def _here(dataset: Dataset, *, sources: Sources) -> Here:
    corpus = read_corpus(sources.captions)
    return Here(
        dataset=dataset,
        videos={split: len(ids) for split, ids in corpus.splits.items()},
        references={split: references_sha256(corpus.references(split)) for split in corpus.splits},
        words=count_words(corpus.sentences("train"), corpus.words),
        weights=_hashes(sources.weights),
    )


def _made(name: str, *, sources: Sources) -> Made | None:
    if not (sources.metrics / name / "scores.json").is_file():
        return None
    file, predictions = sources.evaluation / f"{name}.json", sources.predictions / f"{name}.json"
    again = evaluate_command(name)  # not every row is a stage of the graph
    evaluation = read_as(ReportedEvaluation, file, again=again).provenance if file.is_file() else {}
    origin = read_origin(predictions)
    if origin.get("predictions_sha256") != evaluation.get("predictions_sha256"):
        origin = {}  # of captions that were not scored yet
    records = dict(_records(origin, sources.runs))
    return Made(
        name=name,
        scores=read_scores(name, sources=sources, again=again).scores,
        evaluation=evaluation,
        origin=origin,
        records=records,
    )


def _records(origin: Mapping[str, Any], runs: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of every run that captioned, unless it was trained again since."""
    for name, sha256 in origin.get("members", {}).items():
        file = runs / name / "run.json"
        if file.is_file() and file_sha256(file) == sha256:
            yield name, read_record(runs / name)
    for candidate in origin.get("candidates", {}).values():
        yield from _records(candidate, runs)
