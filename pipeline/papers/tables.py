"""The papers' tables, live: each published row beside the run that makes it here, and what differs between the two.

Only tables of the data set and split rule at hand: other numbers mean nothing beside a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.papers.differing import Here, Made, differences, fuses, members_of
from pipeline.papers.recipes import Recipe, Row, Table, percent
from pipeline.params import Dataset, Train
from pipeline.predictions import parse_name, prediction_name

AS_PUBLISHED = "as the recipe says"


@dataclass(frozen=True, kw_only=True)
class Line:
    row: str
    published: list[str]  # percent, one per metric
    run: str = ""
    ours: list[str]  # the same of the run, if there is one
    remarks: list[str]  # what differs, or the command that makes it


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    recipe: str
    paper: str
    title: str
    metrics: list[str]
    lines: list[Line]

    @property
    def has_runs(self) -> bool:
        return any(line.ours for line in self.lines)


def of_this_data(recipe: Recipe, dataset: Dataset) -> bool:
    return (recipe.recipe.dataset, recipe.recipe.split) == (dataset.name, dataset.split)


def paper_tables(
    recipes: Iterable[Recipe], made: Sequence[Made], *, here: Here, planned: Mapping[str, Train]
) -> list[PaperTable]:
    """`planned` are the runs of params.yaml."""
    fitting = [recipe for recipe in recipes if of_this_data(recipe, here.dataset)]
    return [_table(recipe, table, made, here, planned) for recipe in fitting for table in recipe.tables]


def _table(recipe: Recipe, table: Table, made: Sequence[Made], here: Here, planned: Mapping[str, Train]) -> PaperTable:
    about = recipe.recipe
    return PaperTable(
        recipe=recipe.name,
        paper=about.paper,
        title=f"{about.paper}, Table {table.table}: {about.dataset}, {table.split} split, percent",
        metrics=table.metrics,
        lines=[_line(recipe, table, row, made, here, planned) for row in table.rows],
    )


def _line(
    recipe: Recipe, table: Table, row: Row, made: Sequence[Made], here: Here, planned: Mapping[str, Train]
) -> Line:
    found = _found(recipe, row, made, split=table.split)
    published = percent(row, table)
    if found is None:
        return Line(
            row=row.row, published=published, ours=[], remarks=[how_to_make(recipe, row, planned, split=table.split)]
        )
    if elsewhere := scored_elsewhere(found, row, here, split=table.split):
        return Line(row=row.row, published=published, ours=[], remarks=[elsewhere])
    ours = [f"{100 * found.scores[metric]:.1f}" if metric in found.scores else "-" for metric in table.metrics]
    differs = differences(recipe, row, found, here=here, split=table.split)
    return Line(row=row.row, published=published, run=found.name, ours=ours, remarks=differs or [AS_PUBLISHED])


def _found(recipe: Recipe, row: Row, made: Sequence[Made], *, split: str) -> Made | None:
    """Of `RUN` and `RUN@SPLIT` the one of this split; a list of ids is no split."""
    here = [each for each in made if parse_name(each.name).videos in ("", split)]
    named = [each for each in here if each.run == row.run] or _alike(recipe, row, here)
    return next((each for each in named if each.evaluation.get("split") == split), next(iter(named), None))


def how_to_make(recipe: Recipe, row: Row, planned: Mapping[str, Train], *, split: str) -> str:
    if not recipe.train.keys() <= planned.keys():
        return f"framescribe paper {recipe.name}"
    if split != recipe.caption.split:  # the graph captions one
        trained = [f"dvc repro train@{row.run}"] if row.run in recipe.train else []
        return " && ".join([*trained, on_split(row, row.run, split=split)])
    return " && ".join(row.commands) or f"dvc repro evaluate@{row.run}"


def on_split(row: Row, run: str, *, split: str) -> str:
    """The commands that caption and score trained runs on another split than the graph's, into files of their own."""
    name, members = prediction_name(run, videos=split), members_of(row)
    steps = [f"framescribe caption {run} --split {split}"]
    if fuses(row):
        steps = [f"framescribe caption {member} --split {split}" for member in members]
        steps += ["framescribe fuse " + " ".join(prediction_name(member, videos=split) for member in members)]
    elif members:
        steps = [f"framescribe caption {' '.join(members)} --split {split} --out predictions/{name}.json"]
    return " && ".join([*steps, f"framescribe evaluate {name}"])


def scored_elsewhere(made: Made, row: Row, here: Here, *, split: str) -> str:
    """Why its scores cannot stand in a table of this data set and split, and what helps."""
    scored = made.evaluation.get("split", "a split that nobody wrote down")
    if scored != split:
        return f"{made.name} was scored on {scored}, not {split}: {on_split(row, made.run, split=split)}"
    if made.evaluation.get("references_sha256") != here.references.get(split):
        return f"{made.name} was scored against other captions than data/captions: framescribe evaluate {made.name}"
    return ""


def _alike(recipe: Recipe, row: Row, made: Sequence[Made]) -> list[Made]:
    """Runs of other names that are this row in what makes the recipe's rows different from each other."""
    if row.run not in recipe.train:
        return []
    wanted = _signature(recipe, recipe.train[row.run])
    same_row = [name for name, run in recipe.train.items() if _signature(recipe, run) == wanted]
    seeds = {name for name in same_row if recipe.train[name].features == recipe.train[row.run].features}
    if set(same_row) != seeds:  # rows that differ by their features: only names can tell
        return []
    return [each for each in made if each.params and _signature(recipe, each.params) == wanted]


def _signature(recipe: Recipe, run: Train) -> tuple[Any, ...]:
    """Model, reinforcement, and the options in which the recipe's runs of this model differ."""
    peers = [each.options for each in recipe.train.values() if each.model == run.model]
    options = sorted({key for peer in peers for key in peer})
    telling = [key for key in options if len({peer.get(key) for peer in peers}) > 1]
    rewarded = any(stage.rewards for stage in run.stages)
    return run.model, rewarded, tuple((key, run.options.get(key)) for key in telling)
