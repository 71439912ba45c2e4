"""Pretrained weights: where a file can come from, the hash that proves it, and its conversion to safetensors.

Foreign files are never unpickled as code, and a carrying package is never imported: its archive is opened and one
data file is read from it. `registry.yaml` has the facts, docs/weights.md the rules.
"""

from pipeline.weights.conversion import import_bytes
from pipeline.weights.converted import (
    WEIGHTS_FOLDER,
    State,
    availability,
    converted_path,
    is_ready,
    load_weights,
    origin,
    status,
    verify,
)
from pipeline.weights.instructions import DOWNLOADS, conditions, fetch_command, how_to_get, missing
from pipeline.weights.obtaining import fetch, import_files
from pipeline.weights.registry import (
    NONE,
    RANDOM,
    REGISTRY,
    WITHOUT_FILE,
    Package,
    Source,
    Weights,
    entry,
    fitting_options,
)

__all__ = [
    "DOWNLOADS",
    "NONE",
    "RANDOM",
    "REGISTRY",
    "WEIGHTS_FOLDER",
    "WITHOUT_FILE",
    "Package",
    "Source",
    "State",
    "Weights",
    "availability",
    "conditions",
    "converted_path",
    "entry",
    "fetch",
    "fetch_command",
    "fitting_options",
    "how_to_get",
    "import_bytes",
    "import_files",
    "is_ready",
    "load_weights",
    "missing",
    "origin",
    "status",
    "verify",
]
