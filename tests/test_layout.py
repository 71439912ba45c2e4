"""The shape of the project: imports point one way, names agree, nothing is called utils."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.cli import COMMANDS, STAGES, command_module
from pipeline.params import Params

ROOT = Path(__file__).parent.parent
PACKAGES = ("pipeline", "extractors", "models", "workflows")
# What each package may import of the others. The command line alone reaches up, to find the machine profile.
ALLOWED = {
    "workflows": {"pipeline", "extractors", "models"},
    "pipeline": {"extractors", "models"},
    "extractors": set(),
    "models": set(),
}
HEAVY = ("torch", "torchvision", "dask", "distributed", "dvc", "av", "decord", "numpy", "pydantic", "rich")


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    for path in sources(package):
        if path == ROOT / "pipeline" / "cli.py":
            continue
        others = imported(path) & set(PACKAGES) - {package}
        assert others <= ALLOWED[package], f"{path} imports {others}"


@pytest.mark.parametrize("package", ["extractors", "models"])
def test_arithmetic_touches_no_disk(package: str) -> None:
    for path in sources(package):
        assert not imported(path) & {"pathlib", "os", "shutil", "subprocess", "logging", "sys"}, path


def test_no_file_has_a_name_that_explains_nothing() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {Path(line).stem for line in tracked.splitlines() if line.endswith(".py")}

    assert not names & {"utils", "helpers", "common", "misc"}


def test_stage_is_params_section_is_module_is_command() -> None:
    graph = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]

    assert list(graph) == list(STAGES)
    assert set(Params.model_fields) == {"dataset", *STAGES}
    for name, stage in graph.items():
        assert stage.get("do", stage)["cmd"].split()[:2] == ["framescribe", name]
        assert command_module(name).__name__ == f"pipeline.stages.{name}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    module = command_module(name)

    assert module.__doc__
    assert callable(module.configure)
    assert callable(module.command)


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from pipeline.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "usage: framescribe" in result.stdout
    assert not set(result.stderr.split()) & set(HEAVY)


def test_the_top_level_names_are_ours_alone() -> None:
    owners = packages_distributions()

    for package in PACKAGES:
        assert set(owners.get(package, ["framescribe"])) == {"framescribe"}


def test_the_lock_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text()

    assert "://" not in lock
    assert "--hash=sha256:" in lock
