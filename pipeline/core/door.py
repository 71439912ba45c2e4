"""A package's API without its cost: names in its `__init__.pyi` are imported when they are first asked for (PEP 562).

So `framescribe --help` imports no torch, and type checkers read the stub. The package lazy-loader does the same, but
`framescribe doctor` must answer where no package is installed at all.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def open_door(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the package whose `__init__.py` is `file`."""
    homes = _homes(Path(file).with_suffix(".pyi"))

    def getattribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if homes[name] is None:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return getattribute, lambda: sorted(homes), sorted(homes)


def _homes(stub: Path) -> dict[str, str | None]:
    """Name -> module of the package that defines it; None for a module itself."""
    imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports for alias in node.names}
