"""Names of predictions: a run, RUN+RUN or RUN-or-RUN; with @VIDEOS where they are of other videos than the stage's."""

from __future__ import annotations

from typing import NamedTuple

SPLITS = ("train", "val", "test")
FUSED = "-or-"


class PredictionName(NamedTuple):
    run: str
    videos: str  # a split, or the stem of a list of ids; empty: the split of `caption` in params.yaml

    @property
    def of_stage(self) -> bool:
        """The graph has stages of single runs on the stage's own videos, and of nothing else."""
        return not self.videos and "+" not in self.run and FUSED not in self.run


def prediction_name(run: str, *, videos: str) -> str:
    return f"{run}@{videos}" if videos else run


def parse_name(name: str) -> PredictionName:
    run, _, videos = name.partition("@")
    return PredictionName(run, videos)


def caption_command(name: str) -> str:
    """What makes such predictions again."""
    run, videos = parse_name(name)
    if FUSED in run:
        return "framescribe fuse " + " ".join(prediction_name(each, videos=videos) for each in run.split(FUSED))
    chosen = f" --split {videos}" if videos in SPLITS else f" --ids {videos}.json" if videos else ""
    return f"framescribe caption {run.replace('+', ' ')}{chosen}"


def evaluate_command(name: str) -> str:
    """What scores such predictions again: unlike a stage of the graph it is there for every name."""
    return f"framescribe evaluate {name}"
