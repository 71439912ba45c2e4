"""Changes to params.yaml by a command: the user's comments, order and line breaks stay."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.core import write_text
from pipeline.params.file import PARAMS_FILE, parse_params
from pipeline.params.section import read_yaml


def edit_params(change: Callable[[Any], None], *, path: Path = PARAMS_FILE) -> None:
    """Let `change` work on the document; what it leaves must be valid, or nothing is written."""
    write_text(path, edited(change, path=path))


def edited(change: Callable[[Any], None], *, path: Path = PARAMS_FILE) -> str:
    """The text that `change` makes of the file, which must be valid; nothing is written."""
    from ruamel.yaml import YAML

    read_yaml(path)  # an invalid file is told as such before anything is changed
    kept = YAML(typ="rt")  # plain data and its comments: a tag in the file makes no object of any class
    kept.preserve_quotes = True
    kept.width = 10_000  # never fold a long line
    kept.indent(mapping=2, sequence=4, offset=2)
    document = kept.load(path.read_text())
    change(document)
    stream = io.StringIO()
    kept.dump(document, stream)
    parse_params(YAML(typ="safe").load(stream.getvalue()), source=str(path))
    return stream.getvalue()


def insert(section: Any, key: str, value: Any) -> None:
    """A new key goes before the last one, which owns the empty line that ends the section."""
    section.insert(max(len(section) - 1, 0), key, value)
