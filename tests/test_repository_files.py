"""Files that hosts and tools read, against their own schemas; and the lock, for every Python that it is for."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
SCHEMAS = {
    "CITATION.cff": "vendor.citation-file-format",
    ".github/workflows/ci.yml": "vendor.github-workflows",
    ".github/ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/wish.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
}
PYTHONS = ("3.11", "3.12", "3.13")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read_yaml(path: str) -> dict:
    return YAML(typ="safe").load((ROOT / path).read_text())


@pytest.mark.parametrize("path", SCHEMAS)
def test_it_is_what_its_reader_expects(path: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[path], str(ROOT / path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout + done.stderr


def test_continuous_integration_is_the_script_of_the_repository() -> None:
    steps = read_yaml(".github/workflows/ci.yml")["jobs"]["test"]["steps"]
    assert steps[-1] == {"run": ".ci/run"}


def test_the_citation_is_of_this_version_and_names_every_papers_model() -> None:
    citation = read_yaml("CITATION.cff")
    named = {name for each in citation["references"] for name in re.findall(r"[a-z]\w+$|\b\w+(?= and)", each["notes"])}

    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert named == {"g2l", "stats", "vatex_temporal", "vatex_spatial", "vre", "dualafr"}
    assert all((ROOT / f"models/{name}.py").is_file() for name in named)


def test_every_paper_says_when_and_where_it_can_be_found() -> None:
    for paper in read_yaml("CITATION.cff")["references"]:
        assert isinstance(paper["year"], int), paper["title"]
        assert "doi" in paper or re.fullmatch(r"arXiv:\d{4}\.\d{5}", paper["identifiers"][0]["value"]), paper["title"]


def test_the_lock_has_an_exact_version_within_every_bound() -> None:
    lock = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    bounds = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    for bound in map(Requirement, bounds):
        assert bound.specifier.contains(lock[canonicalize_name(bound.name)]), bound


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_resolves(python: str, tmp_path: Path) -> None:
    """All extras, at the versions of the lock; asks the package registry."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--universal", "--quiet", "--python-version", python]
    files = ["--constraint", str(ROOT / "requirements.lock"), "--output-file", str(tmp_path / "out.txt")]
    done = subprocess.run(
        [*command, "--all-extras", *files, str(ROOT / "pyproject.toml")], capture_output=True, text=True, timeout=300
    )

    assert done.returncode == 0, done.stderr


def test_every_python_that_is_named_is_allowed() -> None:
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert all(f"Programming Language :: Python :: {python}" in PROJECT["classifiers"] for python in PYTHONS)
