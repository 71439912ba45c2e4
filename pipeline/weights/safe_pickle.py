"""Reading a foreign pickle that holds arrays and containers, and nothing else: no code of it ever runs.

Not even numpy's own unpickling runs: stand-ins note an array's type, shape and bytes, and the array is made here.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.core import InputError

LEAVES = (type(None), bool, int, float, complex, str, bytes, np.ndarray)
NUMBERS = "biufc"  # kinds of dtype that are plain numbers


class Dtype:
    """Stands in for numpy.dtype: a code such as f4, and the order of its bytes."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.code, self.order = str(code), "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = str(state[1])

    def numpy(self) -> np.dtype:
        dtype = np.dtype(self.code)
        if dtype.kind not in NUMBERS:
            raise pickle.UnpicklingError(f"it holds an array of {dtype}; only numbers are read")
        return dtype.newbyteorder(">") if self.order == ">" else dtype


class _Array:
    """Stands in for numpy.ndarray: (version, shape, dtype, Fortran order, bytes or, of objects, a list)."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def numpy(self, memo: dict[int, Any]) -> Any:
        _, shape, dtype, fortran, data = self.state
        if isinstance(data, list):  # an array of objects, as `np.save` makes of a dictionary
            return _plain(data[0] if shape == () and len(data) == 1 else data, memo)
        return _array(data, dtype.numpy(), shape, order="F" if fortran else "C")


def _array(data: Any, dtype: np.dtype, shape: tuple[int, ...], *, order: Any) -> np.ndarray:
    raw = data.encode("latin1") if isinstance(data, str) else data  # Python 2 wrote bytes as text
    return np.frombuffer(raw, dtype).reshape(shape, order=order).astype(dtype.newbyteorder("="))


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _from_buffer(data: Any, dtype: Dtype, shape: tuple[int, ...], order: str) -> np.ndarray:
    return _array(bytes(data), dtype.numpy(), shape, order=order)


def scalar(dtype: Dtype, data: Any) -> np.ndarray:
    return _array(data, dtype.numpy(), (), order="C")


def _encode(text: str, encoding: str = "latin1") -> bytes:
    return str(text).encode(encoding)


class _Maker:
    """A function that a pickle may call and cannot alter: the state it would give to one is refused."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make

    def __call__(self, *arguments: Any) -> Any:
        return self.make(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("it alters a function")


# What a pickled array names, and what stands in for it. Everything else is refused before it is looked up.
MAKERS: dict[str, Callable[..., Any]] = {
    "multiarray _reconstruct": _reconstruct,
    "multiarray scalar": scalar,
    "numeric _frombuffer": _from_buffer,
}
ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): Dtype,
    ("collections", "OrderedDict"): OrderedDict,
    ("_codecs", "encode"): _Maker(_encode),  # how protocol 2 writes bytes
} | {
    (f"numpy.{core}.{module}", name): _Maker(make)  # numpy 1 called it core, numpy 2 _core
    for core in ("core", "_core")
    for (module, name), make in ((place.split(), make) for place, make in MAKERS.items())
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}; only numpy arrays are read")
        return ALLOWED[module, name]


def read_arrays(data: bytes, *, source: str) -> Any:
    """Dictionaries, lists and arrays out of a pickle; an error when it holds anything else."""
    try:
        return _plain(_ArraysOnly(io.BytesIO(data), encoding="latin1").load(), {})
    except (
        *(pickle.UnpicklingError, EOFError, ValueError, LookupError, TypeError, AttributeError),
        *(ArithmeticError, MemoryError, RecursionError),
    ) as error:
        raise InputError(f"{source} is not a pickle of arrays: {error or type(error).__name__}") from error


def _plain(value: Any, memo: dict[int, Any]) -> Any:
    """The same tree with arrays for stand-ins; what is shared is converted once, so that no tree can explode."""
    if id(value) not in memo:
        if isinstance(value, dict):
            memo[id(value)] = {key: _plain(each, memo) for key, each in value.items()}
        elif isinstance(value, list | tuple):
            memo[id(value)] = type(value)(_plain(each, memo) for each in value)
        elif isinstance(value, _Array):
            memo[id(value)] = value.numpy(memo)
        elif isinstance(value, LEAVES):
            memo[id(value)] = value
        else:
            raise pickle.UnpicklingError(f"it holds a {type(value).__name__}")
    return memo[id(value)]
