"""The attention-mask curve of a run: how its scores fall as ever more of the smaller attention weights are ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.parts.masking import attention_modules, masked
from pipeline.captioner import Run, caption_videos
from pipeline.core import InputError, Progress
from pipeline.data import Corpus, tokenize
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.params import Caption

RATIOS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
ALL = "all"


@dataclass(frozen=True)
class MaskedRun:
    """A run that can be asked what it says with some of its attention masked."""

    run: Run
    corpus: Corpus
    caption: Caption
    videos: Sequence[str]
    device: str

    def modules(self) -> dict[str, list[str]]:
        """label -> modules: each alone and, where there are several, all together."""
        names = attention_modules(self.run.model)
        if not names:
            raise InputError("this model has no attention that could be masked")
        return {name: [name] for name in names} | ({ALL: names} if len(names) > 1 else {})

    def curves(self, *, ratios: Sequence[float] = RATIOS, progress: Progress) -> dict[str, Any]:
        """label -> metric -> its values at the ratios."""
        references = {
            video: [" ".join(tokenize(caption)) for caption in self.corpus.captions[video]] for video in self.videos
        }
        scorer = CaptionScorer(references)
        found: dict[str, dict[str, list[float]]] = {}
        for label, names in self.modules().items():
            for ratio in ratios:
                for metric, value in self._scores(scorer, names, ratio).items():
                    found.setdefault(label, {}).setdefault(metric, []).append(round(value, 6))
                progress.advance(note=f"{label} {ratio:g}")
        return {"ratios": [*ratios], "videos": len(self.videos), "split": self.caption.split, "modules": found}

    def _scores(self, scorer: CaptionScorer, names: Sequence[str], ratio: float) -> Mapping[str, float]:
        with masked(self.run.model, names, ratio=ratio):
            said = caption_videos(
                self.run.model,
                self.run.source,
                self.videos,
                vocabulary=self.run.vocabulary,
                beam=self.caption.beam,
                max_words=self.caption.max_words,
                length_power=self.caption.length_power,
                device=self.device,
            )
        return scorer.score({video: each.caption for video, each in said.items()}).corpus
