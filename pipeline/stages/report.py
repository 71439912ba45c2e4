"""The HTML page: scores beside a baseline, learning curves, and example clips with the captions of every run."""

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
    return report.report_project(params.load_params(), out=args.out, show_only=args.show, console=console)
