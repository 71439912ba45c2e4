"""The results of `python -m experiments.mechanisms` as one SVG: every idea's seeds without and with it, and the means.

python -m experiments.mechanisms.picture docs/results/mechanisms.json docs/images/mechanisms.svg
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pipeline.core import write_text

COLORS = {"without": "#8c959f", "with": "#1f6feb"}
HEAD, ROW, NAMES, WIDTH, GAP, MARGIN = 52, 46, 400, 250, 40, 20
SPREAD = 28  # from the first seed's dot to the last one's: less than a row


class ScorePanel(NamedTuple):
    """A score as a stretch of the picture."""

    score: str
    title: str
    lowest: float
    highest: float
    marks: tuple[float, ...]
    left: int

    def at(self, value: float) -> float:
        share = (value - self.lowest) / (self.highest - self.lowest)
        return round(self.left + WIDTH * min(max(share, 0.0), 1.0), 1)


PANELS = (
    ScorePanel("told_apart", "told from their twins (0.5 is chance)", 0.4, 1.0, (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), NAMES),
    ScorePanel("cider", "CIDEr-D", 0.5, 2.5, (0.5, 1.0, 1.5, 2.0, 2.5), NAMES + WIDTH + GAP),
)


def draw(ideas: Mapping[str, Mapping[str, Any]]) -> str:
    width, height = NAMES + 2 * WIDTH + GAP + MARGIN, HEAD + ROW * len(ideas) + 24
    parts = [part for panel in PANELS for part in _scale(panel, bottom=height - 24)]
    for row, (name, entry) in enumerate(ideas.items()):
        parts += _idea(name, entry, middle=HEAD + ROW * row + ROW // 2)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' font-family="sans-serif" font-size="12" fill="#57606a">'
        "<title>Each idea on the slice that needs it, without and with it</title>\n"
        + "\n".join([*_legend(), *parts])
        + "\n</svg>\n"
    )


def _legend() -> Iterator[str]:
    for number, (side, color) in enumerate(COLORS.items()):
        x = 14 + 84 * number
        yield f'<circle cx="{x}" cy="18" r="5" fill="{color}"/><text x="{x + 10}" y="22">{side}</text>'


def _scale(panel: ScorePanel, *, bottom: int) -> Iterator[str]:
    yield f'<text x="{panel.left}" y="22" font-weight="bold">{escape(panel.title)}</text>'
    for mark in panel.marks:
        x = panel.at(mark)
        yield f'<path d="M{x} {HEAD - 12}V{bottom}" stroke="#8884"/>'
        yield f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{mark:.1f}</text>'


def _idea(name: str, entry: Mapping[str, Any], *, middle: int) -> Iterator[str]:
    label = escape(f"{name}: {entry['idea']}")
    yield f'<text x="8" y="{middle - 2}" fill="#1f2328">{label}</text>'
    yield f'<text x="8" y="{middle + 14}">{escape(entry["slice"])}</text>'
    for panel in PANELS:
        sides = {side: entry["test"][side][panel.score] for side in COLORS}
        means = [panel.at(fmean(values)) for values in sides.values()]
        yield f'<path d="M{means[0]} {middle}H{means[1]}" stroke="#8884" stroke-width="2"/>'
        for (side, values), mean in zip(sides.items(), means, strict=True):
            yield from _seeds(panel, values, mean=mean, middle=middle, color=COLORS[side])


def _seeds(panel: ScorePanel, values: Sequence[float], *, mean: float, middle: int, color: str) -> Iterator[str]:
    """A dot a seed, one above the other so that equal ones are seen, within the row; and a bar at their mean."""
    apart = min(9.0, SPREAD / max(len(values) - 1, 1))
    for number, value in enumerate(values):
        y = round(middle + apart * (number - (len(values) - 1) / 2), 1)
        yield f'<circle cx="{panel.at(value)}" cy="{y}" r="3.5" fill="{color}" fill-opacity="0.75"/>'
    yield f'<path d="M{mean} {middle - 14}V{middle + 14}" stroke="{color}" stroke-width="3"/>'


def main(arguments: list[str]) -> None:
    results, out = map(Path, arguments)
    write_text(out, draw(json.loads(results.read_text())["ideas"]))


if __name__ == "__main__":
    main(sys.argv[1:])
