"""The attention-mask curve of a run: how its scores fall as ever more of the smaller attention weights are ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.parts.masking import attention_modules, masked
from pipeline.captioner import Search, TrainedRun, caption_videos, open_run
from pipeline.core import Console, InputError, Progress, UsageError, write_sealed_json
from pipeline.corpus import Corpus, read_corpus
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.params import Caption, load_params, pick

RATIOS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
ALL = "all"


def mask_curves(
    run: str, *, videos: int | None, captions: Path, out: Path | None, device: str, console: Console
) -> dict[str, Any]:
    """The curves of a trained run on the first `videos` of its split, written and shown."""
    if videos is not None and videos < 1:
        raise UsageError(f"--videos is {videos}, allowed: 1 or more")
    params = load_params()
    pick(params.train, run, kind="run")
    corpus = read_corpus(captions)
    chosen = corpus.splits[params.caption.split][:videos]
    probe = MaskedRun(open_run(Path("runs") / run, device=device), corpus, params.caption, chosen, device)
    with console.progress(f"mask {run}", len(probe.modules()) * len(RATIOS)) as progress:
        found = probe.curves(progress=progress)
    out = out or Path("metrics") / run / "mask.json"
    write_sealed_json(out, found)
    rows = [(label, *scores["CIDEr-D"]) for label, scores in found["modules"].items()]
    console.table(("CIDEr-D of module", *(f"{ratio:.0%} masked" for ratio in RATIOS)), rows)
    return {"run": run, "out": str(out), "videos": len(chosen)}


@dataclass(frozen=True)
class MaskedRun:
    """A run that captions with some of its attention masked."""

    run: TrainedRun
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
            video: [" ".join(self.corpus.cut(text)) for text in self.corpus.captions[video]] for video in self.videos
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
            generated = caption_videos(
                self.run.model,
                self.run.source,
                self.videos,
                vocabulary=self.run.vocabulary,
                search=Search.of(self.caption),
                device=self.device,
            )
        return scorer.score({video: each.caption for video, each in generated.items()}).corpus
