"""Captions, splits and vocabulary of the data set, for the videos that the index really has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import datasets, params
from pipeline.core import Console


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", type=Path, default=Path("data/index"), help="video index (default: %(default)s)")
    parser.add_argument("--store", type=Path, help="instead of an index: the videos of this feature store")
    parser.add_argument("--out", type=Path, default=Path("data/captions"), help="folder written (default: %(default)s)")
    parser.add_argument(
        "--categories", type=Path, default=Path("features/category"), help="store of classes (default: %(default)s)"
    )


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    values = params.load_params()
    return datasets.assemble_captions(
        dataset=values.dataset,
        index=args.index,
        store=args.store,
        out=args.out,
        categories=args.categories,
        params=values.assemble,
        max_failed=values.decode.max_failed,
        console=console,
        in_use=params.params_in_use(values, "assemble", "dataset", "decode.max_failed"),
    )
