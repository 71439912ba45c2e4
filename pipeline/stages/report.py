"""The HTML page: scores beside a baseline, learning curves, and example clips with what every run said."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipeline import params, report
from pipeline.core import Console


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("report/index.html"), help="the page (default: %(default)s)")
    parser.add_argument("--show", action="store_true", help="print the scores and the page's path, rebuild nothing")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:

    values = params.load_params()
    papers = report.read_tables(values, sources=report.Sources())
    if args.show:
        return report.show(list(values.train), sources=report.Sources(), page=args.out, papers=papers, console=console)
    return report.make_report(
        dataset=values.dataset.name,
        runs=list(values.train),
        extractors=list(values.extract),
        sources=report.Sources(),
        out=args.out,
        tables=report.TABLES,
        params=values.report,
        papers=papers,
        console=console,
    )
