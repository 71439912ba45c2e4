"""Command lines in the pages are such as their own parsers take, blocks of data such as their readers take.

They are run by `test_blocks_run.py`, and the Python by the tests that are named here.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import io
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.cli import COMMANDS, _command_parser, command_module
from pipeline.datasets.msrvtt import load_msrvtt
from pipeline.datasets.plain_folder import load_plain_folder
from pipeline.params import Caption, Extract, Section, Train
from tests.doc_blocks import BLOCK, PAGES, ROOT, blocks

STOPS = {"&&", "||", "|", ";", "do", "done", ")", "<("}
READERS_OWN = {"segment_shares"}  # the package that docs/add-an-extractor.md shows how to write
PYTHON_IS_RUN_BY = {
    "add-an-extractor.md": "tests/catalogue/test_families.py",
    "decoding.md": "tests/framescribe_api/test_api.py",
    "feature-store.md": "tests/framescribe_api/test_api.py",
    "python.md": "tests/framescribe_api/test_api.py",
}


def commands(block: str) -> Iterator[list[str]]:
    """The words of every call of framescribe; of a transcript, what follows its prompt."""
    lines = block.replace("\\\n", " ").splitlines()
    typed = [line[2:] for line in lines if line.startswith("$ ")] or lines
    for line in typed:
        if "framescribe " in line and not re.match(r"framescribe( [a-z-]+)?: ", line):  # a message begins like that
            yield from _calls(_words(line))


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, lexer.commenters = True, "#"
    return list(lexer)


def _calls(words: list[str]) -> Iterator[list[str]]:
    for place, word in enumerate(words):
        if word == "framescribe" and all("=" in each for each in _since_stop(words[:place])):
            rest = words[place + 1 :]
            end = next((number for number, each in enumerate(rest) if each in STOPS), len(rest))
            yield rest[:end]


def _since_stop(words: list[str]) -> list[str]:
    """What stands before a word in its own command: nothing, or variables."""
    after = max((number for number, each in enumerate(words) if each in STOPS), default=-1)
    return words[after + 1 :]


@cache
def parser_of(command: str) -> argparse.ArgumentParser:
    return _command_parser(command, command_module(command))


def refused(words: list[str]) -> str:
    """What the parser says against a command: nothing, if it is right."""
    if not words or words[0] not in COMMANDS:
        return f"no such command: {' '.join(words)}"
    filled = ["1" if word == "N" else word for word in words[1:] if word != "..."]
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.suppress(SystemExit):
        parser_of(words[0]).parse_args(filled)
        return ""
    return told.getvalue() or "refused"


def test_the_check_itself_sees_mistakes() -> None:
    block = "FRAMESCRIBE_PROFILE=a framescribe nothing && framescribe store verify  # framescribe never\n"
    assert list(commands(block)) == [["nothing"], ["store", "verify"]]
    assert list(commands("$ cd x; framescribe doctor\nframescribe said this\n")) == [["doctor"]]
    assert list(commands("framescribe extract: no weights\ndocker run framescribe:1 dvc repro\n")) == []
    assert refused(["nothing"])
    assert refused(["compare", "a", "b", "--wrong"])
    assert refused(["decode", "--max-failed", "many"])
    assert refused(["store", "export", "a", "b", "--format", "exe"])
    assert refused(["store", "nothing"])
    assert not refused(["cache", "gc", "--keep-days", "N"])


def test_blocks_are_found() -> None:
    found = [words for page in PAGES for block in blocks(page, "bash", "") for words in commands(block)]

    assert ["completion", "bash"] in found  # within <( )
    assert ["weights", "fetch", "$name"] in found  # within a loop
    assert len(found) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_command_lines_are_taken_by_their_parsers(page: Path) -> None:
    found = [words for block in blocks(page, "bash", "") for words in commands(block)]

    assert {" ".join(words): said for words in found if (said := refused(words))} == {}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_compiles_and_what_it_imports_is_there(page: Path) -> None:
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block, page.name)):
            for module, name in _imported(node):
                assert _is_there(module, name), f"{module} {name}"


def _imported(node: ast.AST) -> list[tuple[str, str | None]]:
    if isinstance(node, ast.Import):
        return [(alias.name, None) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(str(node.module), alias.name) for alias in node.names]
    return []


def _is_there(module: str, name: str | None) -> bool:
    if module.partition(".")[0] in READERS_OWN or module == "__future__":
        return True
    if importlib.util.find_spec(module) is None:
        return False
    return name is None or hasattr(importlib.import_module(module), name) or bool(_spec(f"{module}.{name}"))


def _spec(module: str) -> object:
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None


def test_every_python_block_is_run_somewhere() -> None:
    with_python = {page.name for page in PAGES if blocks(page, "python")}

    assert with_python == set(PYTHON_IS_RUN_BY)
    for page, test in PYTHON_IS_RUN_BY.items():
        assert page in (ROOT / test).read_text()


def entries(block: str) -> Iterator[tuple[type[Section], dict]]:
    """The sections that a block of YAML shows: entries of `extract` and `train`, or keys of one."""
    value = YAML(typ="safe").load(block)
    found = value.get("extract") or value.get("train") or value
    if "caption" in found:
        yield Caption, found["caption"]
    elif all(isinstance(entry, dict) for entry in found.values()):
        yield from ((Extract if "family" in entry else Train, entry) for entry in found.values())
    else:
        yield Train, {"model": "soft_attention", "features": {}} | found


YAML_BLOCKS = [(page, block) for page in PAGES for block in blocks(page, "yaml")]


@pytest.mark.parametrize(("page", "block"), YAML_BLOCKS, ids=[page.name for page, _ in YAML_BLOCKS])
def test_yaml_is_valid_params(page: Path, block: str) -> None:
    for section, entry in entries(block):
        section.model_validate(entry)


def test_data_is_what_its_reader_takes(tmp_path: Path) -> None:
    others = {(page.name, language) for page in PAGES for language, _ in BLOCK.findall(page.read_text())}
    (table,), (record,) = (blocks(ROOT / "docs/datasets.md", language) for language in ("csv", "json"))
    (tmp_path / "captions.csv").write_text(table)
    (tmp_path / "info.json").write_text(record)

    assert load_plain_folder(tmp_path / "captions.csv").splits["test"] == ["hill"]
    assert load_msrvtt(tmp_path / "info.json", rule="file").slices == {"beach": "outdoors"}
    assert {language for _, language in others} == {"", "bash", "csv", "json", "python", "toml", "yaml"}
    assert {page for page, language in others if language == "toml"} == {"add-an-extractor.md"}
    assert tomllib.loads(*blocks(ROOT / "docs/add-an-extractor.md", "toml"))["project"]["entry-points"]
