"""Every idea against the same model without it, seed by seed, in the project of the current folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.mechanisms.fusing import fused
from experiments.mechanisms.ideas import Idea, Ideas
from experiments.mechanisms.referee import Referee, read_twins
from experiments.mechanisms.trials import EVERYWHERE, SPLITS, SplitCaptions, Trial, TrialRun, slice_captions
from pipeline.core import Console, Executor, UsageError
from pipeline.corpus import read_corpus
from pipeline.extraction import extract
from pipeline.params import Params

CAPTIONS, FEATURES, INDEX = Path("data/captions"), Path("features"), Path("data/index")
SIDES = ("without", "with")


@dataclass(frozen=True)
class IdeaComparison:
    """A project with the demo set, and a machine to work on."""

    params: Params
    executor: Executor
    device: str
    console: Console

    def run(self, chosen: Sequence[Idea], stores: Ideas, *, seeds: int) -> dict[str, Any]:
        """By idea, split, side and score: a number for each seed."""
        trials = [trial for seed in range(seeds) for idea in chosen for trial in _trials(idea, seed)]
        self._extract(stores, {name for each in trials for name in each.run.features.model_dump().values()} - {"none"})
        by_trial = self._captions(list({trial.key: trial for trial in trials}.values()))
        return {idea.name: self._scores(idea, by_trial, seeds=seeds) for idea in chosen}

    def _extract(self, stores: Ideas, wanted: set[str]) -> None:
        """The stores that are not here yet."""

        known = {**self.params.extract, **stores.extract}
        outs = {name: FEATURES / name for name in sorted(wanted) if not (FEATURES / name / "store.json").is_file()}
        missing = {name: known[name] for name in outs}
        if missing:
            machine: dict[str, Any] = {"executor": self.executor, "device": self.device, "console": self.console}
            extract.extract_features(missing, index=INDEX, outs=outs, **machine)

    def _captions(self, trials: Sequence[TrialRun]) -> dict[str, SplitCaptions]:
        work = Trial(CAPTIONS, self.params.caption, self.params.assemble.max_words, self.device)
        by_trial: dict[str, SplitCaptions] = {}
        with self.console.progress("train", len(trials)) as progress:
            for trial, captions in self.executor.map(work, trials):
                by_trial[trial.key] = captions
                progress.advance(note=f"{trial.run.model}, seed {trial.run.seed}")
        return by_trial

    def _scores(self, idea: Idea, by_trial: Mapping[str, SplitCaptions], *, seeds: int) -> dict[str, Any]:
        referee = self._referee()
        sides = [self._sides(idea, seed, by_trial, referee) for seed in range(seeds)]
        found: dict[str, Any] = {"idea": idea.says, "slice": idea.slice}
        for split in SPLITS:
            scores = {side: [referee.score(each[side][split])[idea.slice] for each in sides] for side in SIDES}
            found[split] = {side: _by_name(each) for side, each in scores.items()}
        return found

    def _sides(
        self, idea: Idea, seed: int, by_trial: Mapping[str, SplitCaptions], referee: Referee
    ) -> dict[str, SplitCaptions]:
        """Without and with the idea; without fusion is the branch that does better in validation."""
        trials = _trials(idea, seed)
        pair = [by_trial[trial.key] for trial in trials]
        if idea.fused:
            best = max(pair, key=lambda branch: referee.score(branch["val"])[EVERYWHERE]["cider"])
            settings: dict[str, Any] = {"max_words": self.params.assemble.max_words, "device": self.device}
            clips = slice_captions(CAPTIONS, idea.clips)
            pair = [best, fused([trial.run for trial in trials], pair, captions=clips, **settings)]
        return dict(zip(SIDES, pair, strict=True))

    def _referee(self) -> Referee:
        scenes = Path(self.params.dataset.annotations).with_name("scenes.jsonl")
        if self.params.dataset.name != "demo" or not scenes.is_file():
            raise UsageError(f"twins are known of the demo set only, and {scenes} is not here", hint="make demo")
        return Referee(read_corpus(CAPTIONS), read_twins(scenes))


def _trials(idea: Idea, seed: int) -> list[TrialRun]:
    return [TrialRun(run.model_copy(update={"seed": seed}), idea.clips) for run in idea.runs]


def _by_name(scores: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    return {name: [round(each[name], 4) for each in scores] for name in scores[0]}
