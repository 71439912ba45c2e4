"""Recipes: the features, vocabulary, models, schedules and search of a paper on a data set, with its published rows.

A recipe is a file of workflows/papers/, named `<paper>-<dataset>.yaml`. Its sections extract, assemble, train and
caption are those of params.yaml, except that an extractor is a card of the catalogue and what changes in it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from pipeline.catalogue import entry_of, read_card
from pipeline.core import UsageError
from pipeline.params import OWN_STORES, Assemble, Caption, Extract, Section, Slots, Train, read_yaml

RECIPES = Path(__file__).parents[2] / "workflows/papers"
SECTIONS = ("extract", "assemble", "train", "caption")


class Row(Section):
    """A line of a table."""

    row: str
    run: str
    scores: list[float | None]  # one per metric of the table
    commands: list[str] = Field(default=[])  # what makes it, where it is no run of the graph


class Table(Section):
    table: int  # its number in the paper
    split: Literal["val", "test"] = "test"
    metrics: list[str]
    units: Literal["percent", "fraction"]
    rows: list[Row]


class About(Section):
    paper: str
    title: str
    dataset: Literal["msrvtt", "msvd", "vatex", "mvad"]
    split: str = "standard"
    videos: dict[Literal["train", "val", "test"], int]  # that the paper had
    main: str  # the run of the paper's own best row
    caption_gmac: float  # G multiply-adds to read one caption, forward
    word_vectors: str = ""  # what file the runs' word_vectors stands for
    differs: list[str]  # what is not as in the paper, and why


class Recipe(Section):
    name: str
    recipe: About
    tables: list[Table]
    extract: dict[str, Extract]
    assemble: Assemble
    train: dict[str, Train]
    caption: Caption


def percent(row: Row, table: Table) -> list[str]:
    """A row as papers mostly print it, whatever its own units."""
    scale = 100 if table.units == "fraction" else 1
    return ["-" if score is None else str(round(score * scale, 2)) for score in row.scores]


def known_recipes() -> list[str]:
    return sorted(path.stem for path in RECIPES.glob("*.yaml"))


def recipe_path(name: str) -> Path:
    """The file of a recipe, or an error that lists all and guesses which was meant."""
    known = known_recipes()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"framescribe paper {close[0]}" if close else "framescribe paper"
        raise UsageError(f"there is no recipe '{name}'; there are: {', '.join(known)}", hint=hint)
    return RECIPES / f"{name}.yaml"


@cache
def read_recipe(name: str) -> Recipe:
    path = recipe_path(name)
    values = read_yaml(path)
    try:
        entries = {each: extractor_entry(each, changes) for each, changes in values.pop("extract").items()}
        recipe = Recipe.model_validate({"name": name, "extract": entries, **values})
    except ValidationError as error:
        raise UsageError(f"{path} is not a recipe: {error}") from error
    for run, train in recipe.train.items():
        _require_stores(train.features, recipe.extract, where=f"{path}: train.{run}")
    return recipe


def extractor_entry(name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of params.yaml: that of the card called `name`, or `card`, with what the recipe changes."""
    card = changes.get("card", name)
    return {**entry_of(read_card(card)), **{key: value for key, value in changes.items() if key != "card"}}


def _require_stores(slots: Slots, extractors: Mapping[str, Extract], *, where: str) -> None:
    for slot, store in slots.model_dump().items():
        if store not in extractors and store not in OWN_STORES:
            raise UsageError(f"{where}.features.{slot} is '{store}', which no extractor makes")
