"""Two numbers for the sentences about a slice: CIDEr-D, and how often a clip is told from its twin.

Twins of the demo set are the same but for the one thing that their slice is about. A sentence tells its clip from the
twin when it fits the clip's own captions better than the twin's; whoever cannot perceive that one thing is right in
half of all cases, whatever else was learnt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.mechanisms.trials import EVERYWHERE
from pipeline.data import Corpus, tokenize
from pipeline.metrics import CiderScorer

Scores = dict[str, dict[str, float]]  # slice -> name of the score -> value


def read_twins(scenes: Path) -> dict[str, str]:
    """Each video's twin, where it has one."""
    clips = [json.loads(line) for line in scenes.read_text().splitlines()]
    return {clip["video_id"]: clip["twin"] for clip in clips if clip["twin"]}


@dataclass(frozen=True)
class Referee:
    corpus: Corpus
    twins: Mapping[str, str]

    def score(self, said: Mapping[str, str]) -> Scores:
        """Of every slice and of all clips; `said` are sentences of one split."""
        own = self._cider(said, {video: video for video in said})
        twin = self._cider(said, {video: self.twins[video] for video in said if self.twins.get(video) in said})
        told = {video: _fits_better(own[video], other) for video, other in twin.items()}
        members = {EVERYWHERE: list(said)}
        for video in said:
            members.setdefault(self.corpus.slices[video], []).append(video)
        return {
            label: {"cider": _mean(own, videos), "told_apart": _mean(told, videos)}
            for label, videos in sorted(members.items())
        }

    def _cider(self, said: Mapping[str, str], judged_by: Mapping[str, str]) -> dict[str, float]:
        """Every video's sentence beside the captions of the video that judges it."""
        captions = {video: [" ".join(tokenize(text)) for text in self.corpus.captions[video]] for video in said}
        scorer = CiderScorer(captions)
        scores = scorer.score_each([*judged_by.values()], [said[video] for video in judged_by])
        return dict(zip(judged_by, scores.tolist(), strict=True))


def _fits_better(own: float, other: float) -> float:
    return 0.5 if own == other else float(own > other)


def _mean(scores: Mapping[str, float], videos: Sequence[str]) -> float:
    found = [scores[video] for video in videos if video in scores]
    return sum(found) / len(found) if found else float("nan")
