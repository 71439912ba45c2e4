"""Reading a foreign pickle that holds numpy arrays and containers, and nothing else: no code of it ever runs."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
from numpy._core.multiarray import _reconstruct

from pipeline.errors import InputError

# What a pickled array names. Everything else is refused before it is looked up.
ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,  # the name that numpy 1 wrote
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}; only numpy arrays are read")
        return ALLOWED[module, name]


def read_arrays(data: bytes, *, source: str) -> Any:
    """Dictionaries, lists and arrays out of a pickle; an error when it holds anything else."""
    try:
        return _ArraysOnly(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, TypeError) as error:
        raise InputError(f"{source} is not a pickle of arrays: {error}") from error
