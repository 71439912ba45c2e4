"""Two numbers for the sentences about a slice: CIDEr-D, and how often a clip is told from its twin.

Twins of the demo set are the same but for the one thing that their slice is about. A sentence tells its clip from the
twin when it fits the clip's own captions better than the twin's; a model that cannot perceive that one thing is
right in half of all cases, whatever else it learnt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.mechanisms.trials import EVERYWHERE
from pipeline.corpus import Corpus, tokenize
from pipeline.metrics import CiderScorer

SliceScores = dict[str, dict[str, float]]  # slice -> name of the score -> value


def read_twins(scenes: Path) -> dict[str, str]:
    """Each video's twin, where it has one."""
    clips = [json.loads(line) for line in scenes.read_text().splitlines()]
    return {clip["video_id"]: clip["twin"] for clip in clips if clip["twin"]}


@dataclass(frozen=True)
class Referee:
    corpus: Corpus
    twins: Mapping[str, str]

    def score(self, sentences: Mapping[str, str]) -> SliceScores:
        """Of every slice and of all clips; `sentences` are captions of one split, by video."""
        own = self._cider(sentences, {video: video for video in sentences})
        twin = self._cider(
            sentences, {video: self.twins[video] for video in sentences if self.twins.get(video) in sentences}
        )
        told = {video: _fits_better(own[video], other) for video, other in twin.items()}
        members = {EVERYWHERE: list(sentences)}
        for video in sentences:
            members.setdefault(self.corpus.slices[video], []).append(video)
        return {
            label: {"cider": _mean(own, videos), "told_apart": _mean(told, videos)}
            for label, videos in sorted(members.items())
        }

    def _cider(self, sentences: Mapping[str, str], judged_by: Mapping[str, str]) -> dict[str, float]:
        """Every video's sentence beside the captions of the video that judges it."""
        captions = {video: [" ".join(tokenize(text)) for text in self.corpus.captions[video]] for video in sentences}
        scorer = CiderScorer(captions)
        scores = scorer.score_each([*judged_by.values()], [sentences[video] for video in judged_by])
        return dict(zip(judged_by, scores.tolist(), strict=True))


def _fits_better(own: float, other: float) -> float:
    return 0.5 if own == other else float(own > other)


def _mean(scores: Mapping[str, float], videos: Sequence[str]) -> float:
    found = [scores[video] for video in videos if video in scores]
    return sum(found) / len(found) if found else float("nan")
