"""A family is its module, `extractors.base` and `extractors.parts`: the files that its stage in dvc.yaml depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline.catalogue.families import known_families

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "extractors"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "base"))
PARTS = sorted(str(path.relative_to(FOLDER)) for path in (FOLDER / "parts").rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Modules of extractors/ that a file imports, wherever in it: `from extractors import i3d` is `extractors.i3d`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively, which is not read here"
            whole = node.module == "extractors"
            names = [f"extractors.{each.name}" for each in node.names] if whole else [node.module or ""]
        else:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        yield from (name for name in names if name.split(".")[0] == "extractors")


@pytest.mark.parametrize("file", [*(f"{name}.py" for name in MODULES), *PARTS, "base.py"])
def test_no_file_imports_a_family(file: str) -> None:
    for name in imported(FOLDER / file):
        assert name == "extractors.base" or name.startswith("extractors.parts"), f"{file} imports {name}"


def test_the_modules_beside_base_are_the_families() -> None:
    assert set(MODULES) <= set(known_families())
    assert not {"base", "parts", "__init__"} & set(known_families())


def test_the_graph_names_these_files_and_no_other() -> None:
    graph = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]["extract"]["do"]
    ours = [path for path in graph["deps"] if path.startswith("extractors")]

    assert ours == ["extractors/${item.family}.py", "extractors/base.py", "extractors/parts"]
