"""Two evaluated runs on the same videos: is the difference more than chance, and where is it largest?

python examples/compare_two_runs.py mean_pool soft_attention
"""

# ruff: noqa: T201 - a script talks to whoever runs it

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.evaluation import compare_evaluations, read_evaluation

METRIC = "CIDEr-D"


def main(first: str, second: str) -> None:
    before, after = (read_evaluation(Path("evaluation") / f"{name}.json", name=name) for name in (first, second))
    found = compare_evaluations([before], [after], resamples=1000, seed=0)
    for name, one in found.all.items():
        ends = "[{:+.4f}, {:+.4f}]".format(*one.interval) if one.interval else "too few videos for an interval"
        print(f"{name:8} {one.first:.4f} {one.second:.4f}  {one.difference:+.4f} {ends}")

    gains = after.statistics.means[METRIC] - before.statistics.means[METRIC]  # (videos,) both are sorted by id
    order = gains.argsort()
    for title, places in (("worse", order[:3]), ("better", order[::-1][:3])):
        print(f"{title}: " + ", ".join(f"{before.statistics.videos[place]} ({gains[place]:+.2f})" for place in places))


if __name__ == "__main__":
    main(*sys.argv[1:])
