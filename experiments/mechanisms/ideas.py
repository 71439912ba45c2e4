"""The comparisons of `ideas.yaml`: a run without an idea and the same run with it, or two runs and their fusion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.params import Extract, Train, read_yaml

FILE = Path(__file__).with_name("ideas.yaml")


@dataclass(frozen=True)
class Idea:
    """`runs`: without and with it; or, when `fused`, the branches that late fusion chooses between."""

    name: str
    says: str
    slice: str  # of the demo set, or all
    clips: str  # what is learnt from: the slice alone, or all
    runs: tuple[Train, Train]
    fused: bool = False


@dataclass(frozen=True)
class Ideas:
    extract: dict[str, Extract]  # stores that the project's own params.yaml does not have
    ideas: dict[str, Idea]


def read_ideas(path: Path = FILE) -> Ideas:
    content = read_yaml(path)
    extract = {name: Extract.model_validate(each) for name, each in content["extract"].items()}
    ideas = {name: _idea(name, each, content["schedule"]) for name, each in content["ideas"].items()}
    return Ideas(extract, ideas)


def _idea(name: str, entry: Mapping[str, Any], schedule: Mapping[str, Any]) -> Idea:
    first = merged(schedule, entry["run"])
    runs = Train.model_validate(first), Train.model_validate(merged(first, entry.get("with") or entry["or"]))
    clips = entry.get("clips", entry["slice"])
    return Idea(name, entry["idea"], entry["slice"], clips, runs, fused="or" in entry)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` in it, section by section."""
    sections = [key for key in base.keys() & changes.keys() if isinstance(base[key], dict)]
    return {**base, **changes, **{key: merged(base[key], changes[key]) for key in sections}}
