"""The shape of the project: imports point one way, names agree, nothing is called utils."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.cli import COMMANDS, STAGES, command_module
from pipeline.params import Params
from tests.imports import ROOT, api, cycles, imports, modules, within

PACKAGES = ("framescribe", "pipeline", "extractors", "models", "workflows")
# The rooms, bottom up. A room imports its own modules and those of lower layers, nothing else.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("pipeline.core", "extractors", "models"),
    ("pipeline.params", "pipeline.remote"),
    (
        "pipeline.index",
        "pipeline.corpus",
        "pipeline.store",
        "pipeline.runs",
        "pipeline.predictions",
        "pipeline.metrics",
    ),
    ("pipeline.cache", "pipeline.weights", "pipeline.decoding"),
    ("pipeline.catalogue", "pipeline.datasets", "pipeline.captioner"),
    ("pipeline.extraction", "pipeline.training", "pipeline.evaluation"),
    ("pipeline.captioning", "pipeline.store_tools", "pipeline.papers", "pipeline.demo"),
    ("pipeline.report", "pipeline.doctor", "pipeline.run_tools", "pipeline.browsing"),
    ("pipeline.live",),
    ("workflows",),
    ("pipeline.stages", "pipeline.commands", "pipeline.cli"),
    ("pipeline.__main__",),
    ("framescribe",),  # the public API: nothing imports it
)
# Modules of one stem, each group with its reason.
HOMONYMS = {
    **dict.fromkeys(STAGES, "the parser, the section of params.yaml and the work of a stage"),
    "dataset": "a command and its section of params.yaml",
    "frames": "a command, and the family of single frames",
    "base": "a contract: of extractors, of models, of detectors, of optical flow",
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


def layer_of(module: str) -> tuple[int, str]:
    found = [(number, room) for number, rooms in enumerate(LAYERS) for room in rooms if within(module, [room])]
    assert found, f"{module} is in no room of LAYERS"
    return found[0]


@pytest.mark.parametrize("module", [name for name in modules() if name not in ("pipeline", "workflows")])
def test_a_room_imports_lower_layers_only(module: str) -> None:
    layer, room = layer_of(module)
    for other in imports(module) - {"pipeline"}:
        theirs, their_room = layer_of(other)
        assert their_room == room or theirs < layer, f"{module} imports {other}"


def test_no_module_imports_itself_through_others() -> None:
    """Function-level imports count: they hide a cycle, they do not cut it."""
    assert cycles({name: set(imports(name)) for name in modules()}) == []


def test_pipeline_holds_rooms_and_the_command_line_only() -> None:
    assert {path.name for path in (ROOT / "pipeline").glob("*.py")} == {"__init__.py", "__main__.py", "cli.py"}


def test_a_room_is_entered_through_its_door() -> None:
    """What others use is in the stub of the package; the rest is its own business."""
    past = []
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                room = ".".join(node.module.split(".")[:2])
                if room in modules() and api(room) and room != node.module and not within(name, [room]):
                    past.append(f"{name}: {node.module}")
    assert [each for each in past if "pipeline.core.door" not in each] == []


def test_a_door_names_what_is_there_and_nothing_that_is_a_module_too() -> None:
    for room in [name for name in modules() if api(name)]:
        package = importlib.import_module(room)
        assert package.__doc__, room
        for name, home in api(room).items():
            assert home in modules(), f"{room} names {name} of {home}"
            assert f"{room}.{name}" not in modules() or home == f"{room}.{name}", f"{room}.{name} is a module"


def test_few_imports_hide_in_functions() -> None:
    hidden = []
    for name, path in modules().items():
        functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
        below = [node for each in functions for node in ast.walk(each) if isinstance(node, ast.ImportFrom)]
        hidden += [f"{name}: {node.module}" for node in below if (node.module or "").split(".")[0] in PACKAGES]
    hidden.remove("framescribe: pipeline.core.door")  # to import it must not even set a variable
    assert len(hidden) <= 3, hidden


def test_a_stem_is_one_module() -> None:
    stems: dict[str, list[str]] = {}
    for name in modules():
        if not name.endswith("__main__") and modules()[name].name != "__init__.py":
            stems.setdefault(name.rpartition(".")[2], []).append(name)
    assert {stem: names for stem, names in stems.items() if len(names) > 1 and stem not in HOMONYMS} == {}


def test_a_class_name_is_one_class() -> None:
    classes: dict[str, list[str]] = {}
    for name, path in modules().items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(name)
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


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
    look = graph.pop("weights")["do"]  # it makes nothing: whether a file is there, before DVC looks for it

    assert look["cmd"].split()[:3] == ["framescribe", "weights", "require"]
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
