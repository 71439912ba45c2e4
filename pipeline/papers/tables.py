"""The papers' tables, live: each published row beside the run that makes it here, and what differs between the two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pipeline.papers.recipes import Recipe, Row, Table, percent
from pipeline.params import Dataset, Schedule, Train

TOLD = 5  # differences written out; the rest are counted
AS_PUBLISHED = "as the recipe says"


@dataclass(frozen=True, kw_only=True)
class Made:
    """A run that was scored."""

    name: str
    scores: Mapping[str, float]  # of 1
    split: str  # the one that it captioned
    record: Mapping[str, Any]  # runs/<run>/run.json; empty for an ensemble or a fusion

    @property
    def params(self) -> Train | None:
        try:
            return Train.model_validate(self.record["params"])
        except (KeyError, ValidationError):  # by another version, or made of several runs
            return None


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


def paper_tables(
    recipes: Iterable[Recipe], made: Sequence[Made], *, dataset: Dataset, planned: Mapping[str, Train]
) -> list[PaperTable]:
    """`planned` are the runs of params.yaml."""
    return [_table(recipe, table, made, dataset, planned) for recipe in recipes for table in recipe.tables]


def _table(
    recipe: Recipe, table: Table, made: Sequence[Made], dataset: Dataset, planned: Mapping[str, Train]
) -> PaperTable:
    about = recipe.recipe
    return PaperTable(
        recipe=recipe.name,
        paper=about.paper,
        title=f"{about.paper}, Table {table.table}: {about.dataset}, {table.split} split, percent",
        metrics=table.metrics,
        lines=[_line(recipe, table, row, made, dataset, planned) for row in table.rows],
    )


def _line(
    recipe: Recipe, table: Table, row: Row, made: Sequence[Made], dataset: Dataset, planned: Mapping[str, Train]
) -> Line:
    found = next((each for each in made if each.name == row.run), None) or _alike(recipe, row, made)
    published = percent(row, table)
    if found is None:
        return Line(row=row.row, published=published, ours=[], remarks=[how_to_make(recipe, row, planned)])
    ours = [f"{100 * found.scores[metric]:.1f}" if metric in found.scores else "-" for metric in table.metrics]
    differs = differences(recipe, row, found, dataset=dataset, split=table.split)
    return Line(row=row.row, published=published, run=found.name, ours=ours, remarks=differs or [AS_PUBLISHED])


def how_to_make(recipe: Recipe, row: Row, planned: Mapping[str, Train]) -> str:
    if not recipe.train.keys() <= planned.keys():
        return f"framescribe paper {recipe.name}"
    return " && ".join(row.commands) or f"dvc repro evaluate@{row.run}"


def differences(recipe: Recipe, row: Row, made: Made, *, dataset: Dataset, split: str) -> list[str]:
    """What keeps the two numbers of a line from being comparable."""
    about, told = recipe.recipe, []
    if dataset.name != about.dataset:
        told.append(f"data set {dataset.name}, not {about.dataset}")
    elif dataset.split != about.split:
        told.append(f"split rule {dataset.split}, not {about.split}")
    if made.split != split:
        told.append(f"scored on {made.split}, not {split}")
    wanted, given = recipe.train.get(row.run), made.params
    if wanted is not None and given is not None:
        told += _features(wanted, given, made.record) + _training(wanted, given)
    elif made.record:
        told.append("made by another version: its settings cannot be compared")
    rest = len(told) - TOLD
    return told if rest <= 1 else [*told[:TOLD], f"and {rest} more"]


def _features(wanted: Train, given: Train, record: Mapping[str, Any]) -> list[str]:
    slots = given.features.model_dump()
    told = [
        f"{slot}: {slots[slot]}, not {store}"
        for slot, store in wanted.features.model_dump().items()
        if slots[slot] != store
    ]
    untrained = [name for name, facts in record.get("features", {}).items() if facts.get("untrained")]
    return told + [f"untrained features: {', '.join(untrained)}"] * bool(untrained)


def _training(wanted: Train, given: Train) -> list[str]:
    epochs = [sum(stage.epochs for stage in run.stages) for run in (given, wanted)]
    told = [f"{epochs[0]} epochs, not {epochs[1]}"] if epochs[0] != epochs[1] else []
    told += [
        f"{key} {given.options.get(key, 'default')}, not {value}"
        for key, value in wanted.options.items()
        if given.options.get(key) != value
    ]
    keys = [key for key in Schedule.model_fields if key not in ("epochs", "patience", "stage")]
    for key in [*keys, "batch_size", "initial", "word_vectors"]:
        ours, theirs = getattr(given, key), getattr(wanted, key)
        told += [f"{key} {ours or 'none'}, not {theirs or 'none'}"] if ours != theirs else []
    return told


def _alike(recipe: Recipe, row: Row, made: Sequence[Made]) -> Made | None:
    """A run of another name that is this row in what makes the recipe's rows different from each other."""
    if row.run not in recipe.train:
        return None
    wanted = _signature(recipe, recipe.train[row.run])
    same_row = [name for name, run in recipe.train.items() if _signature(recipe, run) == wanted]
    seeds = {name for name in same_row if recipe.train[name].features == recipe.train[row.run].features}
    if set(same_row) != seeds:  # rows that differ by their features: only names can tell
        return None
    return next((each for each in made if each.params and _signature(recipe, each.params) == wanted), None)


def _signature(recipe: Recipe, run: Train) -> tuple[Any, ...]:
    """Model, reinforcement, and the options in which the recipe's runs of this model differ."""
    peers = [each.options for each in recipe.train.values() if each.model == run.model]
    options = sorted({key for peer in peers for key in peer})
    telling = [key for key in options if len({peer.get(key) for peer in peers}) > 1]
    rewarded = any(stage.rewards for stage in run.stages)
    return run.model, rewarded, tuple((key, run.options.get(key)) for key in telling)
