"""A recipe into params.yaml: four sections become the recipe's, comments and all; the data set's paths stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from pipeline.core import UsageError, write_text
from pipeline.papers.recipes import SECTIONS, extractor_entry, recipe_path
from pipeline.params import PARAMS_FILE, edited

FORMER = "params.before{}.yaml"  # the first has no number


def applied(name: str) -> str:
    """The text of params.yaml with the recipe in it, if that is valid."""
    text = edited(changes_of(name))
    return re.sub(r"\n+(?=(?:assemble|train|caption|evaluate):)", "\n\n", text)  # one empty line between sections


def changes_of(name: str) -> Callable[[Any], None]:
    """A change for `params.edit_params`."""
    from ruamel.yaml import YAML

    recipe = YAML(typ="rt").load(recipe_path(name).read_text())

    def change(document: Any) -> None:
        entries = {each: extractor_entry(each, changes) for each, changes in recipe["extract"].items()}
        document["extract"] = _laid_out(entries)
        for section in SECTIONS[1:]:
            document[section] = recipe[section]
        dataset, about = document["dataset"], recipe["recipe"]
        if dataset["name"] == about["dataset"] and dataset.get("split", "standard") != about.get("split", "standard"):
            dataset["split"] = about.get("split", "standard")

    return change


def differences(before: str, after: str) -> list[tuple[str, str, str]]:
    """(key, before, after) of what differs in two texts of params.yaml.

    Entries of extract and train that come and go are listed by their names.
    """
    from ruamel.yaml import YAML

    found = []
    earlier, later = (YAML(typ="safe").load(text) for text in (before, after))
    for section in ("dataset", *SECTIONS):
        old, new = earlier.get(section, {}), later.get(section, {})
        if section in ("extract", "train"):
            gone, come = [key for key in old if key not in new], [key for key in new if key not in old]
            found += [(section, ", ".join(gone) or "-", ", ".join(come) or "-")] if gone or come else []
            found += [
                (f"{section}.{key}", "as it was", "changed") for key in old if key in new and old[key] != new[key]
            ]
        else:
            keys = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
            found += [(f"{section}.{key}", str(old.get(key, "-")), str(new.get(key, "-"))) for key in keys]
    return found


def formers() -> Iterator[Path]:
    """Where former versions of params.yaml are kept, the oldest first, without end."""
    return (Path(FORMER.format(f"-{number}" if number > 1 else "")) for number in count(1))


def keep_former(text: str) -> Path:
    """Beside those before it, so that after several recipes the first file can still be brought back."""
    place = next(path for path in formers() if not path.exists())
    write_text(place, text)
    return place


def undo(*, path: Path = PARAMS_FILE) -> Path:
    """The last one kept is params.yaml again."""
    kept = list(takewhile(Path.is_file, formers()))
    if not kept:
        raise UsageError(f"there is no {FORMER.format('')}: no recipe was applied here", hint="framescribe paper")
    kept[-1].replace(path)
    return kept[-1]


def _laid_out(entries: Mapping[str, Mapping[str, Any]]) -> Any:
    """One value per line, and lists and dictionaries within theirs, as params.yaml is written by hand."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    document = CommentedMap()
    for name, entry in entries.items():
        document[name] = CommentedMap(entry)
        for key, value in entry.items():
            if isinstance(value, dict | list):
                inner = CommentedMap(value) if isinstance(value, dict) else CommentedSeq(value)
                inner.fa.set_flow_style()
                document[name][key] = inner
    return document
