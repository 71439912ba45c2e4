"""What every section of params.yaml is: frozen and closed, and its errors name the key that was meant."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from pipeline.core import UsageError, printable


class Section(BaseModel):
    """Frozen, and closed: a misspelt key must not be silently ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def read_yaml(path: Path) -> Any:
    """Plain data; what is not valid, or asks for objects, is an error."""
    from ruamel.yaml import YAML, YAMLError

    try:
        return YAML(typ="safe").load(path.read_text())
    except (YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid YAML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: its values are nested too deeply to be read") from error


def explain_problem(problem: Any, *, root: type[Section]) -> str:
    where = printable(".".join(str(part) for part in problem["loc"] if part != "[key]"))
    if problem["type"] != "extra_forbidden":
        told = problem["msg"].removeprefix("Value error, ")
        value = "" if isinstance(problem["input"], dict) else f" (got {problem['input']!r})"
        return f"{where}: {told}{value}"
    known = known_keys(problem["loc"][:-1], root=root)
    close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
    meant = f" (did you mean '{close[0]}'?)" if close else ""
    return f"{where}: unknown key{meant}; known keys here: {', '.join(known)}"


def known_keys(location: tuple[Any, ...], *, root: type[Section]) -> list[str]:
    """The fields of the section at `location`, found by walking the annotations."""
    section: Any = root
    for part in location:
        if isinstance(section, type) and issubclass(section, Section):
            section = section.model_fields[part].annotation
        else:  # dict[str, Section]: the part is the entry's own name
            section = section.__args__[1]
    return list(section.model_fields)
