"""Learning curves of the results of `experiments.seeds` as one SVG: the mean over the seeds of every run.

python -m experiments.curves results.json curves.svg [RUN ...]
"""

from __future__ import annotations

import argparse
import json
import sys
from html import escape
from pathlib import Path
from typing import Any

from pipeline.core import write_text
from pipeline.report import Chart, Points, chart

COLORS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a")
LEGEND = 130  # width of the names beside the chart


def mean_curves(results: dict[str, Any]) -> dict[str, Points]:
    """Run -> (epoch, validation CIDEr-D); a run that goes on from another is drawn to the right of it."""
    runs: dict[str, list[list[float]]] = {}
    before: dict[str, int] = {}
    for name, found in results.items():
        run = name.rpartition("-")[0]
        runs.setdefault(run, []).append([line[2] for line in found["curve"]])
        before[run] = len(results.get(found.get("start_from"), {"curve": []})["curve"])
    return {
        run: [
            (float(epoch), sum(values) / len(values))
            for epoch, values in enumerate(zip(*curves, strict=False), 1 + before[run])
        ]
        for run, curves in runs.items()
    }


def draw(drawn: Chart) -> str:
    ticks = [
        f'<text x="{tick.at}" y="{drawn.bottom + 16}" text-anchor="middle">{tick.label}</text>'
        for tick in drawn.x_ticks
    ]
    for tick in drawn.y_ticks:
        ticks.append(f'<path d="M{drawn.left} {tick.at}H{drawn.right}" stroke="#8884"/>')
        ticks.append(f'<text x="{drawn.left - 6}" y="{tick.at + 4}" text-anchor="end">{tick.label}</text>')
    lines = []
    for row, line in enumerate(drawn.lines):
        color = COLORS[line.color % len(COLORS)]
        lines.append(f'<polyline points="{line.path}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines.append(
            f'<text x="{drawn.right + 10}" y="{drawn.top + 14 + 18 * row}" fill="{color}">{escape(line.name)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawn.width + LEGEND} {drawn.height}" role="img"'
        f' font-family="sans-serif" font-size="12" fill="#57606a"><title>{escape(drawn.description)}</title>\n'
        + "\n".join([*ticks, *lines])
        + f'\n<text x="{drawn.left}" y="{drawn.height - 6}">{escape(drawn.title)} after each epoch</text>\n</svg>\n'
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="(default: all)")
    args = parser.parse_args(arguments)
    known = mean_curves(json.loads(args.results.read_text()))
    if unknown := [run for run in args.runs if run not in known]:
        parser.error(f"{args.results} has no run {', '.join(unknown)}; it has: {', '.join(known)}")
    curves = {run: known[run] for run in args.runs or known}
    colors = {run: number for number, run in enumerate(curves)}
    write_text(args.out, draw(chart("val_cider", curves=curves, colors=colors, chosen={})))


if __name__ == "__main__":
    main(sys.argv[1:])
