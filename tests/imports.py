"""Who imports whom in this project, read from the sources: inside functions too, and through doors to the module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("framescribe", "pipeline", "extractors", "models", "workflows")


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {_name(path): path for path in files}


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def api(package: str) -> dict[str, str]:
    """Name -> module that defines it, of a package with a door; nothing of others."""
    stub = modules()[package].with_suffix(".pyi")
    if not stub.is_file():
        return {}
    nodes = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: f"{package}.{node.module}" if node.module else f"{package}.{alias.name}"
        for node in nodes
        for alias in node.names
    }


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of this project that a module names anywhere in its source; never the doors that it goes through."""
    tree = ast.parse(modules()[module].read_text())
    return frozenset(found for found in _named(tree) if found in modules() and found != module)


def _named(tree: ast.Module) -> Iterator[str]:
    doors: dict[str, str] = {}  # local name -> package
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                target = f"{node.module}.{alias.name}"
                if target in modules() and api(target):
                    doors[alias.asname or alias.name] = target
                elif target in modules():
                    yield target
                elif node.module in modules():
                    yield api(node.module).get(alias.name, node.module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in doors:
            yield api(doors[node.value.id]).get(node.attr, doors[node.value.id])


def closure(roots: Iterable[str], *, beyond: Iterable[str] = ()) -> set[str]:
    """All modules that the roots reach; those in the packages `beyond` are not entered."""
    kept_out = tuple(beyond)
    waiting, found = list(roots), set[str]()
    while waiting:
        module = waiting.pop()
        if module in found or within(module, kept_out):
            continue
        found.add(module)
        waiting += imports(module)
    return found


def within(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of two and more that reach each other (Tarjan's components)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        path.append(node)
        for other in graph[node]:
            if other not in numbers:
                visit(other)
            if other in path:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == numbers[node]:
            group = path[path.index(node) :]
            del path[path.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in graph:
        if node not in numbers:
            visit(node)
    return found
