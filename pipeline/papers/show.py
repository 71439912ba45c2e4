"""A recipe on the terminal: its published rows, what it needs, what it changes and the commands that follow."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pipeline.core import Console, write_text
from pipeline.papers.applying import applied, differences, keep_former
from pipeline.papers.needs import INDEX, Needs, core_hours, dataset_sizes, gpu_hours, needs_of
from pipeline.papers.recipes import Recipe, known_recipes, percent, read_recipe
from pipeline.params import PARAMS_FILE, Dataset, load_params
from pipeline.weights import fetch_command


def show_recipes(console: Console) -> dict[str, Any]:
    """All that there are."""
    recipes = {name: read_recipe(name) for name in known_recipes()}
    rows = [
        (name, each.recipe.title, each.recipe.dataset, ", ".join(each.extract), len(each.train))
        for name, each in recipes.items()
    ]
    console.table(("recipe", "paper", "data set", "features", "runs"), rows)
    console.say("next: framescribe paper NAME --show   (then without --show: it sets params.yaml)")
    return {name: {"dataset": each.recipe.dataset, "runs": list(each.train)} for name, each in recipes.items()}


def apply_recipe(name: str, *, show_only: bool, console: Console) -> dict[str, Any]:
    """Show the recipe and, unless `show_only`, write it to params.yaml; the former file is kept."""
    recipe, dataset = read_recipe(name), load_params().dataset
    before, after = PARAMS_FILE.read_text(), applied(name)
    every = [needs_of(recipe, size) for size in dataset_sizes(recipe, dataset, index=INDEX)]
    needs = every[0]  # of the videos at hand, where they were decoded
    changed = differences(before, after)
    _show_rows(recipe, console)
    for each in every:
        _show_costs(recipe, each, console)
    _show_word_vectors(recipe, console)
    if changed:
        console.table(("params.yaml", "before", "after"), changed)
    steps = next_steps(recipe, needs, dataset)
    if show_only:
        steps = [f"framescribe paper {name}", *steps]
        state = "as it was"
    elif changed:
        former = keep_former(before)
        write_text(PARAMS_FILE, after)
        state = f"now {name} (before: {former}; framescribe paper --undo)"
    else:
        state = f"{name} already"
    console.say("\n  ".join([f"{PARAMS_FILE} is {state}; next:", *steps]))
    written = bool(changed) and not show_only
    whole = {"videos": every[-1].size.videos, "disk": every[-1].disk}
    return _facts(recipe, needs) | {
        "whole": whole,
        "written": written,
        "changed": [key for key, _, _ in changed],
        "next": steps,
    }


def _facts(recipe: Recipe, needs: Needs) -> dict[str, Any]:
    features = {each.name: {"state": each.state, "rows": each.rows, "bytes": each.bytes} for each in needs.features}
    return {
        "recipe": recipe.name,
        "runs": list(recipe.train),
        "features": features,
        "missing_weights": needs.missing,
        "disk": needs.disk,
    }


def next_steps(recipe: Recipe, needs: Needs, dataset: Dataset) -> list[str]:
    """The commands that make the paper's rows, in order."""
    about, steps = recipe.recipe, []
    if dataset.name != about.dataset:
        split = "" if about.split == "standard" else f" --split {about.split}"
        lenient = " --unmatched ignore" if about.dataset == "vatex" else ""
        steps.append(f"framescribe dataset use {about.dataset} --videos DIR --annotations PATH{split}{lenient}")
    steps += [fetch_command(name) for name in needs.missing]
    steps += ["framescribe doctor", f"dvc repro evaluate@{about.main}", "dvc repro"]
    return steps + [line for table in recipe.tables[:1] for row in table.rows for line in row.commands]


def _show_rows(recipe: Recipe, console: Console) -> None:
    console.say(f"{recipe.name}: {recipe.recipe.title}")
    rows = [
        (f"Table {table.table}, {table.split}", row.row, row.run, *percent(row, table))
        for table in recipe.tables
        for row in table.rows
    ]
    console.table(("published, percent", "row", "run", *recipe.tables[0].metrics), rows)
    for text in recipe.recipe.differs:
        console.say(f"differs: {text}")


def _show_costs(recipe: Recipe, needs: Needs, console: Console) -> None:
    console.say(f"videos: {needs.size.videos} ({needs.size.source})")
    _show_features(needs, console)
    free = shutil.disk_usage(".").free
    console.say(f"disk: about {needs.disk / 1e9:.1f} GB, stores and feature cache; free here: {free / 1e9:.0f} GB")
    _show_hours(recipe, needs, console)


def _show_word_vectors(recipe: Recipe, console: Console) -> None:
    if recipe.recipe.word_vectors:
        path = Path(recipe.train[recipe.recipe.main].word_vectors)
        state = "present" if path.is_file() else "missing"
        console.say(
            f"word vectors: {path} ({state}): {recipe.recipe.word_vectors}; without them set word_vectors to ''"
        )


def _show_features(needs: Needs, console: Console) -> None:
    rows = [
        (
            each.name,
            ", ".join(f"{output} {'x'.join(map(str, shape)) or '1'}" for output, shape in each.outputs.items()),
            f"{each.weights}: {each.state}",
            each.licence,
            each.rows,
            f"{each.bytes / 1e9:.1f}",
            _rounded(core_hours(each.gmac)),
        )
        for each in needs.features
    ]
    console.table(("features", "outputs", "weights", "licence", "rows", "GB", "core hours"), rows)


def _show_hours(recipe: Recipe, needs: Needs, console: Console) -> None:
    amounts = {
        "features": needs.extract_gmac,
        f"train {recipe.recipe.main}": needs.row_gmac,
        f"train every run ({len(recipe.train)}), at most": needs.all_gmac,
    }
    rows = [(what, _rounded(core_hours(gmac)), _rounded(gpu_hours(gmac))) for what, gmac in amounts.items()]
    console.table(("hours, very roughly", "one core", "one GPU (assumed rate)"), rows)


def _rounded(hours: float) -> str:
    return f"{hours:.1f}" if hours < 10 else f"{hours:.0f}"
