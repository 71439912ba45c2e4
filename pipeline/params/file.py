"""`params.yaml`: what changes results, one section per stage. Unknown keys and wrong types are errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationError

from pipeline.core import UsageError
from pipeline.params.assemble import Assemble
from pipeline.params.caption import Caption
from pipeline.params.dataset import Dataset
from pipeline.params.decode import Decode
from pipeline.params.evaluate import Evaluate
from pipeline.params.extract import Extract
from pipeline.params.report import Report
from pipeline.params.section import Section, explain_problem, read_yaml
from pipeline.params.train import NO_RUN, Train

PARAMS_FILE = Path("params.yaml")
OWN_STORES = ("none", "category")  # folders of features/ that no extractor makes: the empty one, and assemble's


def _folder_name(name: str) -> str:
    """Entries become folders and stages: nothing that leads elsewhere, or that a shell or DVC reads in another way."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError("a name has letters, digits, '_', '-' and '.', and begins with none of the last two")
    return name


def _store_name(name: str) -> str:
    if name in OWN_STORES:
        raise ValueError(f"features/{name} is a store of the graph's own; call the extractor something else")
    return _folder_name(name)


def _run_name(name: str) -> str:
    if name == NO_RUN:
        raise ValueError(f"runs/{NO_RUN} stands for no run; call this one something else")
    return _folder_name(name)


class Params(Section):
    dataset: Dataset
    decode: Decode = Decode()
    extract: dict[Annotated[str, AfterValidator(_store_name)], Extract]
    assemble: Assemble = Assemble()
    train: dict[Annotated[str, AfterValidator(_run_name)], Train]
    caption: Caption = Caption()
    evaluate: Evaluate = Evaluate()
    report: Report = Report()


def load_params(path: Path = PARAMS_FILE) -> Params:
    if not path.is_file():
        raise UsageError(f"{path} is not here (looked in {Path.cwd()})", hint="run this from the project's root")
    return parse_params(read_yaml(path), source=str(path))


def parse_params(values: Any, *, source: str) -> Params:
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        raise UsageError(_explain(error, source), hint=f"edit {source}; docs/params.md explains every key") from error


def pick(sections: dict[str, Any], name: str, *, kind: str, where: str = "params.yaml") -> Any:
    """The entry of a dictionary section, or an error that lists the entries there are."""
    if name not in sections:
        known = ", ".join(sections) or "none"
        raise UsageError(f"there is no {kind} '{name}' in {where}; it has: {known}")
    return sections[name]


def _explain(error: ValidationError, source: str) -> str:
    lines = [explain_problem(problem, root=Params) for problem in error.errors()]
    return f"{source} cannot be used:\n  " + "\n  ".join(lines)
