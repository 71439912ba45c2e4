"""Set params.yaml to a paper's rows on a data set. Nothing is started: what it needs and the next commands are printed.

Without a name: the recipes there are. The sections extract, assemble, train and caption become the recipe's, the data
set's paths stay, and the former file is kept as params.before.yaml (--undo brings it back).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import papers, params, weights
from pipeline.core import Console, UsageError, write_text

INDEX = Path("data/index")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a recipe, such as g2l-msrvtt")
    parser.add_argument("--show", action="store_true", help="print what it needs and would change; write nothing")
    parser.add_argument("--undo", action="store_true", help="bring back the params.yaml before the last recipe")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.undo:
        return _undo(args.name, console)
    return _list(console) if args.name is None else _apply(args.name, show_only=args.show, console=console)


def _list(console: Console) -> dict[str, Any]:

    recipes = {name: papers.read_recipe(name) for name in papers.known_recipes()}
    rows = [
        (name, each.recipe.title, each.recipe.dataset, ", ".join(each.extract), len(each.train))
        for name, each in recipes.items()
    ]
    console.table(("recipe", "paper", "data set", "features", "runs"), rows)
    console.say("next: framescribe paper NAME --show   (then without --show: it sets params.yaml)")
    return {name: {"dataset": each.recipe.dataset, "runs": list(each.train)} for name, each in recipes.items()}


def _undo(name: str | None, console: Console) -> dict[str, Any]:

    if name is not None:
        raise UsageError("--undo takes no recipe: it brings back the params.yaml before the last one")
    console.say(f"params.yaml is again what it was ({papers.undo()})")
    return {"undone": True}


def _apply(name: str, *, show_only: bool, console: Console) -> dict[str, Any]:

    recipe, current = papers.read_recipe(name), params.load_params()
    before = params.PARAMS_FILE.read_text()
    after = papers.applied(name)
    needs = papers.needs_of(recipe, papers.library_of(recipe, current.dataset, index=INDEX))
    changed = papers.differences(_values(before), _values(after))
    _show_recipe(recipe, console)
    _show_needs(recipe, needs, console)
    if changed:
        console.table(("params.yaml", "before", "after"), changed)
    steps = next_steps(recipe, needs, current.dataset)
    if show_only:
        steps = [f"framescribe paper {name}", *steps]
        state = "as it was"
    elif changed:
        former = papers.keep_former(before)
        write_text(params.PARAMS_FILE, after)
        state = f"now {name} (before: {former}; framescribe paper --undo)"
    else:
        state = f"{name} already"
    console.say(f"{params.PARAMS_FILE} is {state}; {_listed(steps)}")
    written = bool(changed) and not show_only
    return _facts(recipe, needs) | {"written": written, "changed": [key for key, _, _ in changed], "next": steps}


def _facts(recipe: papers.Recipe, needs: papers.Needs) -> dict[str, Any]:
    features = {each.name: {"state": each.state, "rows": each.rows, "bytes": each.bytes} for each in needs.features}
    return {
        "recipe": recipe.name,
        "runs": list(recipe.train),
        "features": features,
        "missing_weights": needs.missing,
        "disk": needs.disk,
    }


def next_steps(recipe: papers.Recipe, needs: papers.Needs, dataset: params.Dataset) -> list[str]:
    """The commands that make the paper's rows, in order."""

    about, steps = recipe.recipe, []
    if dataset.name != about.dataset:
        split = "" if about.split == "standard" else f" --split {about.split}"
        lenient = " --unmatched ignore" if about.dataset == "vatex" else ""
        steps.append(f"framescribe dataset use {about.dataset} --videos DIR --annotations PATH{split}{lenient}")
    steps += [weights.fetch_command(name) for name in needs.missing]
    steps += [f"dvc repro evaluate@{about.main}", "dvc repro"]
    return steps + [line for table in recipe.tables[:1] for row in table.rows for line in row.commands]


def _show_recipe(recipe: papers.Recipe, console: Console) -> None:

    about = recipe.recipe
    console.say(f"{recipe.name}: {about.title}")
    rows = [
        (f"Table {table.table}, {table.split}", row.row, row.run, *papers.percent(row, table))
        for table in recipe.tables
        for row in table.rows
    ]
    metrics = recipe.tables[0].metrics
    console.table(("published, percent", "row", "run", *metrics), rows)
    for text in about.differs:
        console.say(f"differs: {text}")


def _show_needs(recipe: papers.Recipe, needs: papers.Needs, console: Console) -> None:

    rows = [
        (
            each.name,
            ", ".join(f"{output} {'x'.join(map(str, shape)) or '1'}" for output, shape in each.outputs.items()),
            f"{each.weights}: {each.state}",
            each.licence,
            each.rows,
            f"{each.bytes / 1e9:.1f}",
            _rounded(papers.core_hours(each.gmac)),
        )
        for each in needs.features
    ]
    console.table(("features", "outputs", "weights", "licence", "rows", "GB", "core hours"), rows)
    console.say(f"videos: {needs.library.videos} ({needs.library.source})")
    console.say(f"disk: about {needs.disk / 1e9:.0f} GB, stores and feature cache; free here: {_free():.0f} GB")
    amounts = {"features": needs.extract_gmac, f"train {recipe.recipe.main}": needs.row_gmac}
    amounts[f"train every run ({len(recipe.train)}), at most"] = needs.all_gmac
    table = [
        (what, _rounded(papers.core_hours(gmac)), _rounded(papers.gpu_hours(gmac))) for what, gmac in amounts.items()
    ]
    console.table(("hours, very roughly", "one core", "one GPU (assumed rate)"), table)
    if recipe.recipe.word_vectors:
        path = Path(recipe.train[recipe.recipe.main].word_vectors)
        state = "present" if path.is_file() else "missing"
        console.say(
            f"word vectors: {path} ({state}): {recipe.recipe.word_vectors}; without them set word_vectors to ''"
        )


def _values(text: str) -> dict[str, Any]:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(text)


def _listed(steps: list[str]) -> str:
    return "\n  ".join(["next:", *steps])


def _rounded(hours: float) -> str:
    return f"{hours:.1f}" if hours < 10 else f"{hours:.0f}"


def _free() -> float:
    import shutil

    return shutil.disk_usage(".").free / 1e9
