"""The jars that the pycocoevalcap package carries, found without importing it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pipeline.core import MissingToolError

TOKENIZER = "tokenizer/stanford-corenlp-3.4.1.jar"
METEOR = "meteor/meteor-1.5.jar"
SPICE = "spice/spice-1.0.jar"


def jar_path(name: str) -> Path:
    package = importlib.util.find_spec("pycocoevalcap")
    folders = list(package.submodule_search_locations or []) if package else []
    for folder in folders:
        if (path := Path(folder) / name).is_file():
            return path
    raise MissingToolError(f"{name} of the pycocoevalcap package is absent", hint="pip install pycocoevalcap==1.2")
