"""All that keeps a run from being a row of the recipe: how it was scored, captioned and trained, and on what."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from pipeline.papers.agreement import (
    UNKNOWN,
    caption_settings,
    disagreements,
    evaluate_settings,
    found_caption,
    found_min_count,
    found_section,
    found_store,
    found_train,
    found_words,
    store_settings,
    train_settings,
    unknown,
)
from pipeline.papers.recipes import Recipe, Row
from pipeline.params import OWN_STORES, Dataset, Extract, Train
from pipeline.predictions import FUSION, parse_name

WITHOUT_FILE = ("random", "none")  # what a fingerprint says of networks without trained weights


@dataclass(frozen=True, kw_only=True)
class Here:
    """What this project has, and a recipe is compared with."""

    dataset: Dataset
    videos: Mapping[str, int] = field(default_factory=dict)  # split -> how many data/captions has
    references: Mapping[str, str] = field(default_factory=dict)  # split -> sha256 of its captions
    words: Mapping[str, int] = field(default_factory=dict)  # word -> times in training captions, most frequent first
    weights: Mapping[str, str] = field(default_factory=dict)  # name -> sha256 of its file, of those that are here


@dataclass(frozen=True, kw_only=True)
class Made:
    """A run that was scored, or an ensemble or a fusion of several."""

    name: str
    scores: Mapping[str, float]  # of 1
    evaluation: Mapping[str, Any]  # provenance of the scores
    origin: Mapping[str, Any] = field(default_factory=dict)  # of the captions that were scored, where it is known
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # run.json of each run that captioned

    @property
    def run(self) -> str:
        """Its records go by the run: `RUN@SPLIT` is the same run on other videos."""
        return parse_name(self.name).run

    @property
    def params(self) -> Train | None:
        return found_train(self.records.get(self.run, {}))


def differences(recipe: Recipe, row: Row, made: Made, *, here: Here, split: str) -> list[str]:
    """Each by its name, with both values; nothing when the run is what the recipe would make."""
    told = _scoring(recipe, made.evaluation, here=here, split=split)
    if row.run in recipe.train:
        told += _captioning(recipe, made.origin, [made.run], split=split)
        return told + run_differences(recipe, row.run, made.records.get(made.run, {}), here=here)
    members = members_of(row)
    told += (
        _fusion(recipe, made.origin, members, split=split)
        if fuses(row)
        else _captioning(recipe, made.origin, members, split=split)
    )
    each = {name: run_differences(recipe, name, made.records.get(name, {}), here=here) for name in members}
    return told + _together(each)


def members_of(row: Row) -> list[str]:
    """The runs that the row's first command names."""
    words = shlex.split(row.commands[0])[2:] if row.commands else []
    return list(takewhile(lambda word: not word.startswith("-"), words))


def fuses(row: Row) -> bool:
    return bool(row.commands) and shlex.split(row.commands[0])[1] == "fuse"


def _together(each: Mapping[str, list[str]]) -> list[str]:
    """What is so of every member is told once."""
    first = next(iter(each.values()), [])
    shared = [text for text in first if all(text in told for told in each.values())]
    alone = [f"{name}: {text}" for name, told in each.items() for text in told if text not in shared]
    return [f"every member: {text}" for text in shared] + alone


def _scoring(recipe: Recipe, evaluation: Mapping[str, Any], *, here: Here, split: str) -> list[str]:
    videos = {f"{name} videos": count for name, count in recipe.recipe.videos.items()}
    found = {f"{name} videos": here.videos.get(name, UNKNOWN) for name in recipe.recipe.videos}
    found[f"{split} videos"] = evaluation.get("videos", UNKNOWN)
    settings = evaluate_settings()
    given = found_section(evaluation.get("settings", {}), settings, section="evaluate")
    return disagreements(videos, found) + disagreements(settings, given)


def _captioning(recipe: Recipe, origin: Mapping[str, Any], members: Sequence[str], *, split: str) -> list[str]:
    """`members` are the runs that must have captioned together."""
    settings = caption_settings(recipe.caption, split=split)
    given = found_caption(origin.get("settings", {}), settings)
    wanted, found = {"captioned by": " + ".join(sorted(members))}, unknown({"captioned by": ""})
    if origin.get("made_by") == "caption":
        found = {"captioned by": " + ".join(sorted(origin["members"]))}
    elif origin:
        found, given = {"captioned by": f"a fusion of {', '.join(sorted(origin['candidates']))}"}, unknown(settings)
    return disagreements(wanted, found) + disagreements(settings, given)


def _fusion(recipe: Recipe, origin: Mapping[str, Any], members: Sequence[str], *, split: str) -> list[str]:
    wanted = {"fusion of": ", ".join(sorted(members))} | {f"fuse.{key}": value for key, value in FUSION.items()}
    if origin.get("made_by") != "fuse":
        found = unknown(wanted) if not origin else unknown(wanted) | {"fusion of": "no fusion"}
        return disagreements(wanted, found)
    given = found_section(
        origin["settings"], {key: value for key, value in wanted.items() if "." in key}, section="fuse"
    )
    candidates = {parse_name(name).run: each for name, each in origin["candidates"].items()}
    told = disagreements(wanted, {"fusion of": ", ".join(sorted(candidates))} | given)
    each = {name: _captioning(recipe, candidates.get(name, {}), [name], split=split) for name in members}
    return told + _together(each)


def run_differences(recipe: Recipe, name: str, record: Mapping[str, Any], *, here: Here) -> list[str]:
    """Of a trained run to the recipe's entry."""
    wanted, given = recipe.train[name], found_train(record)
    if given is None:
        return [f"how it was trained {UNKNOWN}" if not record else f"made by another version: settings {UNKNOWN}"]
    assemble = {f"assemble.{key}": value for key, value in recipe.assemble.model_dump().items()}
    vocabulary = record.get("vocabulary", [])
    count = found_min_count(vocabulary, here.words, wanted=recipe.assemble.min_count)
    found = {"assemble.min_count": count, "assemble.max_words": record.get("max_words", UNKNOWN)}
    found["assemble.words"] = found_words(vocabulary)
    told = disagreements(train_settings(wanted), train_settings(given)) + disagreements(assemble, found)
    return told + _features(recipe, wanted, record, here=here)


def _features(recipe: Recipe, run: Train, record: Mapping[str, Any], *, here: Here) -> list[str]:
    """The stores that the run read, field by field, once per slot."""
    read = {facts["slot"]: facts for facts in record.get("features", {}).values() if "slot" in facts}
    told = []
    for slot, store in run.features.model_dump().items():
        if store in OWN_STORES:
            continue
        entry, fingerprint = recipe.extract[store], read.get(slot, {}).get("fingerprint")
        wanted = store_settings(entry)
        found = unknown(wanted)
        if isinstance(fingerprint, dict):
            found = found_store(fingerprint)
            found["weights"] = _weights(found["weights"], entry, here)
        told += disagreements(wanted, found, prefix=f"{slot}: ")
    return told


def _weights(sha256: str, entry: Extract, here: Here) -> str:
    """By the name that the recipe has for them, if its file is here and is the one."""
    if sha256 in WITHOUT_FILE or sha256 == UNKNOWN:
        return sha256
    if entry.weights not in here.weights:
        return UNKNOWN
    return entry.weights if sha256 == here.weights[entry.weights] else f"of sha256 {sha256[:12]}"
