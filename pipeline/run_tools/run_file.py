"""A run in one file: a safetensors file that can check itself, whose tensors are the bytes of a closed list of parts.

Nothing is packed and nothing is pickled, so no size can be other than it says. All is checked before anything is used:
the header, which must be to the byte what the parts ask for; the names; the sha256 of each part; and that the parts
belong together. Where a part goes is decided by this program and not by the file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core import DamageError, FramescribeError, InputError, printable, require_seal
from pipeline.params import Params, parse_params
from pipeline.run_tools.entries import require_same_entries, weights_read
from pipeline.store import TensorFile, Written, header_of, spec_of, write_tensors

KIND, VERSION = "a run of framescribe", "1"
CARD, MODEL, PARAMS, RECORD, NEEDED = "card.md", "model.safetensors", "params.json", "run.json", "weights.json"
TEXTS = (CARD, PARAMS, RECORD, NEEDED)
PARTS = (*TEXTS, MODEL)
WEIGHTS = "weights/"  # before the name of weights that are packed
START = b'{"__metadata__":{"header":"'
LENGTH = 8  # bytes before the header, which say how long it is
LONGEST_HEADER = 1 << 20
LONGEST_TEXT = 1 << 27  # of a part that is read as JSON: a vocabulary of millions of words
INPUT = {"slot", "store", "tensor", "fingerprint", "fingerprint_sha256", "untrained"}  # facts of a feature in run.json
NEED = {"sha256", "licence", "conditions", "description", "get"}  # facts of weights in weights.json
RUN = re.compile(r"\w[\w.-]*")
WEIGHTS_NAME = re.compile(r"[\w-][\w.+-]*([:/@][\w-][\w.+-]*)*")  # leads nowhere but below weights/
AGAIN = "copy it again from where it was exported, or there: framescribe runs export NAME FILE"
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)


def write_run_file(path: Path, *, run: str, parts: Mapping[str, np.ndarray]) -> Written:
    """`parts` are bytes, (N,) uint8 each. The same run gives the same bytes: nothing says when or where."""
    sums = {f"sha256/{name}": _sha256(part) for name, part in parts.items()}
    specs = {name: spec_of(part) for name, part in parts.items()}
    metadata = {"kind": KIND, "version": VERSION, "run": run, **sums}
    return write_tensors(path, specs, parts.__getitem__, metadata=metadata)


def _sha256(part: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(part).data).hexdigest()


@dataclass(frozen=True)
class RunFile:
    """A whole one, whose parts belong together."""

    path: Path
    parts: Mapping[str, np.ndarray]  # name -> (N,) uint8, views of the file

    @cached_property
    def params(self) -> Params:
        """What of the project's params captions a video: `decode`, the run's entries of `extract`, `caption`."""
        return parse_params(self._json(PARAMS), source=f"{self.path}: {PARAMS}")

    @cached_property
    def record(self) -> dict[str, Any]:
        return {key: value for key, value in self._json(RECORD).items() if key != "checksum"}

    @cached_property
    def needed(self) -> dict[str, dict[str, str]]:
        """Weights -> their sha256, licence, conditions and where they can be had."""
        return dict(self._json(NEEDED))

    @property
    def run(self) -> str:
        return str(self.record["run"])

    @property
    def packed(self) -> dict[str, np.ndarray]:
        return {name.removeprefix(WEIGHTS): part for name, part in self.parts.items() if name.startswith(WEIGHTS)}

    @property
    def card(self) -> str:
        return self.parts[CARD].tobytes().decode(errors="replace")

    def _json(self, name: str) -> Any:
        return json.loads(self.parts[name].tobytes())


def open_run_file(path: Path) -> RunFile:
    """Refused in words unless every byte is one that an export of a run could have."""
    _require_kind(path)
    return _in_words(path, lambda: _opened(path))


def _in_words(path: Path, opened: Callable[[], RunFile]) -> RunFile:
    try:
        return opened()
    except FramescribeError as error:
        about = error.message if str(path) in error.message else f"{path}: {error.message}"
        raise (DamageError if isinstance(error, DamageError) else InputError)(about, hint=AGAIN) from error
    except MALFORMED as error:
        told = f"{path} is no run that an export could have written ({printable(repr(error)[:200])})"
        raise InputError(told, hint=AGAIN) from error


def _require_kind(path: Path) -> None:
    """By its first bytes, before its header is read."""
    try:
        with path.open("rb") as stream:
            head = stream.read(LENGTH + len(START))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="name a file of `runs export`") from error
    if head[LENGTH:] != START or int.from_bytes(head[:LENGTH], "little") > LONGEST_HEADER:
        told = f"{path} is no file that `framescribe runs export` wrote, or its beginning is damaged"
        raise InputError(told, hint=AGAIN)


def _opened(path: Path) -> RunFile:
    tensors = TensorFile(path)
    _require_header(path, tensors)
    _require_parts(path, tensors)
    file = RunFile(path, {name: _whole(path, tensors, name) for name in tensors})
    _require_belonging(file)
    return file


def _require_header(path: Path, tensors: TensorFile) -> None:
    """To the byte what the parts ask for: no name twice, no gap, no overlap, nothing besides."""
    metadata = {name: text for name, text in tensors.metadata.items() if not name.startswith(("header", "check/"))}
    if metadata.get("kind") != KIND:
        raise InputError(f"{path} is another file of framescribe, not a run that was exported")
    if metadata.get("version") != VERSION:
        told = f"{path} is of version {printable(str(metadata.get('version')))}; this framescribe reads {VERSION}"
        raise InputError(told)
    specs = {name: tensors.spec(name) for name in tensors}
    expected = header_of(specs, metadata=metadata)
    with path.open("rb") as stream:
        if stream.read(len(expected)) != expected:
            raise InputError(f"{path} is not laid out as an export is: a part twice, a gap, or something besides")
    if any(spec.dtype != "uint8" or len(spec.shape) != 1 or spec.shape[0] < 0 for spec in specs.values()):
        raise InputError(f"{path} has a part that is not plain bytes")


def _require_parts(path: Path, tensors: TensorFile) -> None:
    if lacking := [name for name in PARTS if name not in tensors]:
        raise InputError(f"{path} lacks {', '.join(lacking)}")
    for name in tensors:
        of_weights = name.startswith(WEIGHTS) and WEIGHTS_NAME.fullmatch(name.removeprefix(WEIGHTS))
        if name not in PARTS and not of_weights:
            raise InputError(f"{path} has a part that no export has: {printable(name)}")
        if name in TEXTS and (size := tensors.spec(name).nbytes) > LONGEST_TEXT:
            raise InputError(f"{path}: {name} has {size} bytes, more than the {LONGEST_TEXT} that are allowed")


def _whole(path: Path, tensors: TensorFile, name: str) -> np.ndarray:
    part = tensors[name]
    if _sha256(part) != tensors.metadata[f"sha256/{name}"]:
        raise DamageError(f"{path} is damaged: the bytes of '{name}' changed")
    return part


def _require_belonging(file: RunFile) -> None:
    """Names become paths below; and what the extractors make must be what the run was trained on."""
    require_seal(file.parts[RECORD].tobytes(), file.path, hint=AGAIN)
    record, entries = file.record, file.params.extract
    if any(not facts.keys() >= INPUT for facts in record["features"].values()):
        raise InputError(f"{RECORD} says other things of features than a run does")
    if any(facts.keys() != NEED or {*map(type, facts.values())} != {str} for facts in file.needed.values()):
        raise InputError(f"{NEEDED} says other things of weights than an export does")
    for name in (file.run, *record["params"]["features"].values()):
        if not RUN.fullmatch(name):
            raise InputError(f"a name in it leads elsewhere: {printable(name)}")
    require_same_entries(record, entries, run=file.run)
    if spare := entries.keys() - {facts["store"] for facts in record["features"].values()}:
        raise InputError(f"its run does not read what it has entries for: {printable(', '.join(sorted(spare)))}")
    wanted = weights_read(record, entries)
    if stated := [name for name in wanted if not WEIGHTS_NAME.fullmatch(name)]:
        raise InputError(f"the name of its weights leads elsewhere: {printable(stated[0])}")
    if {name: facts["sha256"] for name, facts in file.needed.items()} != wanted:
        raise InputError("it tells of other weights than its features were made with")
    for name, part in file.packed.items():
        if _sha256(part) != wanted.get(name):
            raise InputError(f"the weights {printable(name)} in it are not those that its features were made with")
