"""A run's file as a small project of that run alone, in which the stages work as they do in any other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.captioner import build_captioner, load_model
from pipeline.core import InputError, cache_root
from pipeline.params import PARAMS_FILE, Train
from pipeline.run_tools.carried_weights import weights_here
from pipeline.run_tools.run_file import AGAIN, MALFORMED, MODEL, PARAMS, RECORD, RunFile, open_run_file
from pipeline.weights import converted_path

CACHE = "FRAMESCRIBE_CACHE"


@contextmanager
def unpacked_run(path: Path) -> Iterator[tuple[str, Path]]:
    """Stand in that project while the block runs, with the cache of the folder before: the run's name, that folder."""
    file, before = open_run_file(path), Path.cwd()
    weights = weights_here(file)
    with TemporaryDirectory() as folder, _same_cache(), chdir(folder):
        _lay_out(file, weights)
        _require_fitting_model(file)
        yield file.run, before


@contextmanager
def _same_cache() -> Iterator[None]:
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(cache_root().absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = before


def _lay_out(file: RunFile, weights: dict[str, Path]) -> None:
    """In the folder where we stand: each part at a place that is known here."""
    run = Path("runs") / file.run
    for place, part in ((PARAMS_FILE, PARAMS), (run / RECORD, RECORD), (run / MODEL, MODEL)):
        _write(place, file.parts[part].data)
    for name, packed in file.packed.items():
        _write(converted_path(name), packed.data)
    for name, path in weights.items():
        converted_path(name).parent.mkdir(parents=True, exist_ok=True)
        converted_path(name).symlink_to(path)


def _write(path: Path, data: memoryview) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _require_fitting_model(file: RunFile) -> None:
    """Before a video is decoded."""
    record = file.record
    try:
        params = Train.model_validate(record["params"])
        words, sizes = len(record["vocabulary"]), record["sizes"]
        model = build_captioner(params.model, vocabulary=words, sizes=sizes, options=params.options)
        load_model(Path("runs") / file.run / MODEL, model, hint=AGAIN)
    except (RuntimeError, MemoryError, *MALFORMED) as error:
        raise InputError(f"{file.path}: its model does not fit its record", hint=AGAIN) from error
