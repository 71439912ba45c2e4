"""What the pages say is there: commands with their options, links, files, extras, keys with defaults."""

from __future__ import annotations

import argparse
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from pydantic_core import PydanticUndefined

from pipeline.cli import COMMANDS, _command_parser, command_module
from pipeline.core.reasons import REASONS
from pipeline.decoding.findings import WARNINGS
from pipeline.params.extract import Extract
from pipeline.params.file import Params
from pipeline.params.section import Section
from pipeline.params.train import Train

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
SCRIPTS = sorted([ROOT / "Makefile", *ROOT.glob("docker/*"), *ROOT.glob("workflows/**/*.yaml"), ROOT / "Dockerfile"])
SOURCES = sorted(path for name in ("framescribe", "pipeline", "workflows") for path in (ROOT / name).rglob("*.py"))
COMMAND = re.compile(r"(^|`|)framescribe ([a-z][a-z-]+)((?:\\\||[^`#|\n\"'])*)", re.MULTILINE)
PACKAGES = ("framescribe", "pipeline", "extractors", "models", "workflows")
CODE = (*PACKAGES, "docker", "tests", "benchmarks", "examples", "docs")
EXAMPLES = {"extractors/segments.py"}  # what the reader is shown how to write


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def options(command: str) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Of a command, and of each of its actions."""
    parser = _command_parser(command, command_module(command))
    actions = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    below = {name: _strings(sub) for each in actions for name, sub in each.choices.items()}
    return _strings(parser), below


def _strings(parser: argparse.ArgumentParser) -> frozenset[str]:
    return frozenset(string for action in parser._actions for string in action.option_strings)


def mistakes(text: str) -> list[str]:
    found = []
    for before, command, rest in COMMAND.findall(text):
        if command not in COMMANDS:
            found += [f"framescribe {command}"] if before else []  # in running text it is a name and a verb
            continue
        own, below = options(command)
        action = next(iter(rest.split()), "")
        allowed = own | below.get(action, frozenset())
        asked = re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)
        found += [f"framescribe {command} {action}: {option}" for option in asked if option not in allowed]
    return found


def test_the_check_itself_sees_mistakes() -> None:
    assert mistakes("`framescribe cluster certs --wrong x`") == ["framescribe cluster certs: --wrong"]
    assert mistakes("`framescribe store export A B --failed`") == ["framescribe store export: --failed"]
    assert mistakes("`framescribe nothing`") == ["framescribe nothing"]
    assert mistakes("`framescribe store ls [STORE] [--failed]`") == []


@pytest.mark.parametrize("path", [*PAGES, *SCRIPTS], ids=name_of)
def test_commands_and_options_exist(path: Path) -> None:
    assert mistakes(path.read_text()) == []


def test_hints_name_commands_and_options_that_exist() -> None:
    assert {name_of(path): found for path in SOURCES if (found := mistakes(path.read_text()))} == {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """As GitHub makes them from headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_reached_from_the_readme() -> None:
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)", (ROOT / "README.md").read_text()))

    assert linked == {name_of(page) for page in ROOT.glob("docs/*.md")}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    named = re.findall(rf"(?:`|python )((?:{'|'.join(CODE)})/[\w./-]+)", page.read_text())
    missing = [path for path in named if "NAME" not in path and not (ROOT / path).exists()]

    assert set(missing) <= EXAMPLES


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_extras_and_variables_exist(page: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = page.read_text()

    assert set(re.findall(r"framescribe\[(\w+)\]", text)) <= set(extras)
    assert [name for name in re.findall(r"FRAMESCRIBE_[A-Z0-9_]+", text) if name not in all_code()] == []


@cache
def all_code() -> str:
    return "".join(path.read_text() for path in [*SOURCES, *SCRIPTS, *ROOT.glob("tests/**/*.py")])


SECTIONS: dict[str, type[Section]] = {
    name: {"extract": Extract, "train": Train}.get(name) or field.annotation  # type: ignore[misc]
    for name, field in Params.model_fields.items()
}


@pytest.mark.parametrize("name", SECTIONS)
def test_params_page_has_every_key_and_its_default(name: str) -> None:
    page = (ROOT / "docs" / "params.md").read_text()
    section = re.split(r"^## ", page.split(f"\n## {name}\n")[1], flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]*)\|", section, re.MULTILINE)
    told: dict[str, str] = {}
    for keys, defaults in rows:
        names = re.findall(r"`(\w+)`", keys)
        values = [defaults] if len(names) == 1 else (defaults.split(", ") + [""] * len(names))
        told |= {key: value.strip().strip("`") for key, value in zip(names, values, strict=False)}

    fields = SECTIONS[name].model_fields
    assert set(told) == set(fields)
    for key, value in told.items():
        default = fields[key].default
        assert value == ("" if default is PydanticUndefined else written(default)), key


def written(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-")
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return '""' if value == "" else str(value)


@pytest.mark.parametrize("code", [*REASONS, *WARNINGS])
def test_decoding_page_has_every_reason_and_every_warning(code: str) -> None:
    assert f"\n| `{code}` | " in (ROOT / "docs" / "decoding.md").read_text()
