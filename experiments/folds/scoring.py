"""Sentences of all folds as one corpus: which systems there are, their scores with intervals, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.folds.cross_validation import CrossValidation
from experiments.folds.decoding import TOGETHER
from experiments.folds.pairing import Deal, Gap, System, compared, means, scores_of
from experiments.folds.training import read_seconds
from pipeline.core import InputError, read_sealed_json
from pipeline.evaluation import MetricSettings, score_all

NAME = re.compile(r"(?P<recipe>.+)-fold(?P<fold>\d+)-(?P<seed>\w+)\.(?P<decoding>\w+)\.json")
Sentences = dict[str, dict[str, dict[str, str]]]  # system -> seed -> clip -> sentence


@dataclass(frozen=True)
class Scoreboard:
    """The systems of a cross-validation that have a sentence for every clip, each scored once."""

    validation: CrossValidation
    systems: Mapping[str, System]

    @classmethod
    def of(cls, validation: CrossValidation, *, only: Sequence[str] = (), meteor: bool = False) -> Scoreboard:
        said = read_sentences(validation)
        if unknown := [name for name in only if name not in said]:
            known = ", ".join(said) or "none"
            raise InputError(f"no system '{unknown[0]}' has a sentence for every clip; there are: {known}")
        wanted = {name: said[name] for name in only or said}
        references = {clip: validation.corpus.captions[clip] for clip in validation.clips}
        flat = {f"{name} {seed}": each for name, seeds in wanted.items() for seed, each in seeds.items()}
        if not flat:
            raise InputError(
                f"{validation.results} has no sentences yet", hint="python -m experiments.folds run RECIPE"
            )
        scores = score_all(MetricSettings(meteor=meteor), flat, references)
        systems = {
            name: {seed: scores[f"{name} {seed}"].statistics for seed in seeds} for name, seeds in wanted.items()
        }
        return cls(validation, systems)

    @property
    def deal(self) -> Deal:
        held_out = [fold.held_out for fold in self.validation.folds]
        return Deal.of(self.validation.clips, self.validation.sources, held_out)

    def compare(self, first: str, second: str) -> dict[str, Gap]:
        return compared(self.systems[first], self.systems[second], self.deal)

    def record(self) -> dict[str, Any]:
        """Of every system its scores, each seed's CIDEr-D, and processor seconds."""
        return {name: self._facts(name, system) for name, system in self.systems.items()}

    def _facts(self, name: str, system: System) -> dict[str, Any]:
        recipe, _, decoding = name.rpartition(".")
        scores = scores_of(system, self.deal)
        return {
            "scores": {metric: [round(value, 4) for value in each] for metric, each in scores.items()},
            "seeds": {seed: round(means({seed: one})["CIDEr-D"], 4) for seed, one in sorted(system.items())},
            "processor_seconds": self._seconds(recipe, decoding, list(system)),
        }

    def _seconds(self, recipe: str, decoding: str, seeds: Sequence[str]) -> dict[str, float]:
        """Of one model, the mean over folds and seeds: its training, and decoding what one fold holds out."""
        folder, trained = self.validation.results, recipe.removesuffix(f"-{TOGETHER}")
        runs = [path.name for path in sorted((folder / "trained").glob(f"{trained}-fold*-*.json"))]
        names = [f"{trained}-fold{fold}-{seed}" for fold in range(len(self.validation.folds)) for seed in seeds]
        decodings = [f"{name}.{decoding}.json" for name in names]
        return {"training": _mean_seconds(folder, runs), "decoding": _mean_seconds(folder, decodings)}


def _mean_seconds(results: Path, names: Sequence[str]) -> float:
    return round(fmean(sum(read_seconds(results / "seconds" / name).values()) for name in names), 3)


def read_sentences(validation: CrossValidation) -> Sentences:
    """Of systems and seeds whose folds are all there, in the order of the clips."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in sorted((validation.results / "sentences").glob("*.json")):
        if match := NAME.fullmatch(path.name):
            recipe = f"{match['recipe']}-{TOGETHER}" if match["seed"] == TOGETHER else match["recipe"]
            record = read_sealed_json(path, hint=f"remove {path}, then run again")
            found.setdefault((f"{recipe}.{match['decoding']}", match["seed"]), []).append(record)
    whole: Sentences = {}
    for (system, seed), folds in found.items():
        said = {clip: sentence for fold in folds for clip, sentence in fold["sentences"].items()}
        if said.keys() == set(validation.clips):
            _require_one_setting(system, folds)
            whole.setdefault(system, {})[seed] = {clip: said[clip] for clip in validation.clips}
    return whole


def _require_one_setting(system: str, folds: Sequence[Mapping[str, Any]]) -> None:
    settings = [fold["decided_by"]["caption"] for fold in folds]
    if any(other != settings[0] for other in settings):
        raise InputError(
            f"the folds of '{system}' were decoded with different settings",
            hint=f"python -m experiments.folds run {system.partition('.')[0]}",
        )


def as_json(gaps: Mapping[str, Gap]) -> dict[str, dict[str, float]]:
    return {metric: {key: round(value, 4) for key, value in gap._asdict().items()} for metric, gap in gaps.items()}
