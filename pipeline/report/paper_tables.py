"""The papers' tables on the page and on the terminal: what was scored here, handed to `pipeline.papers.tables`."""

from __future__ import annotations

from pipeline.core import read_sealed_json
from pipeline.papers import Made, PaperTable, known_recipes, paper_tables, read_recipe
from pipeline.params import Params
from pipeline.report.results import ReportedEvaluation, Sources, read_as, read_scores, repro


def read_tables(params: Params, *, sources: Sources) -> list[PaperTable]:
    recipes = [read_recipe(name) for name in known_recipes()]
    made = [_made(name, sources=sources) for name in runs_shown(params)]
    return paper_tables(
        recipes, [each for each in made if each is not None], dataset=params.dataset, planned=params.train
    )


def runs_shown(params: Params) -> list[str]:
    """The runs of params.yaml, and rows of papers that several commands make."""
    recipes = [read_recipe(name) for name in known_recipes()]
    several = [row.run for recipe in recipes for table in recipe.tables for row in table.rows if row.commands]
    return list(dict.fromkeys([*params.train, *several]))


def _made(name: str, *, sources: Sources) -> Made | None:
    if not (sources.metrics / name / "scores.json").is_file():
        return None
    evaluation, record = sources.evaluation / f"{name}.json", sources.runs / name / "run.json"
    split = (
        read_as(ReportedEvaluation, evaluation, again=repro(f"evaluate@{name}")).provenance.get("split", "test")
        if evaluation.is_file()
        else ""
    )
    return Made(
        name=name,
        scores=read_scores(name, sources=sources).scores,
        split=str(split),
        record=read_sealed_json(record, hint=repro(f"train@{name}")) if record.is_file() else {},
    )
