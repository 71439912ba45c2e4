"""The section `caption`: how captions are searched for."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from pipeline.params.section import Section

Slot = Literal["appearance", "motion", "regions", "sound"]


class Caption(Section):
    search: Literal["beam", "sample", "consensus"] = "beam"
    beam: int = Field(default=5, gt=0)  # 1 is greedy
    max_words: int = Field(default=20, gt=0)
    length_power: float = Field(default=0.0, ge=0)  # beams are ranked by log p / length ** power
    temperature: float = Field(default=0.7, gt=0)  # of sampled captions
    seed: int = Field(default=0, ge=0)  # of sampled captions
    consensus_of: Literal["sample", "beam", "neighbours"] = "sample"  # the candidates of a consensus
    samples: int = Field(default=40, ge=2)  # sampled captions per video, of a consensus
    utility: Literal["cider", "bleu4"] = "cider"  # how close two captions are
    neighbours: int = Field(default=0, ge=0)  # nearest training videos, whose captions judge the candidates too
    neighbours_by: Slot = "appearance"  # the store that says which are near
    neighbours_in: Literal["features", "words"] = "features"  # by what it has, or by the words expected from it
    neighbours_weight: float = Field(default=1.0, gt=0)  # beside all candidates together
    neighbours_lend: int = Field(default=0, ge=0)  # captions of each neighbour that are candidates too
    split: Literal["train", "val", "test"] = "test"
    no_repeat: int | None = Field(default=None, ge=0)  # no run of so many words twice in a sentence; 0 is no rule
    first_reading: bool = False  # of a model that reads twice: beside each sentence the one after the first reading

    @model_validator(mode="after")
    def _has_candidates(self) -> Caption:
        if self.search != "consensus":
            return self
        if self.consensus_of == "beam" and self.beam == 1:
            raise ValueError("a consensus of beams needs a beam of at least 2")
        if self.consensus_of == "neighbours" and not (self.neighbours and self.neighbours_lend):
            raise ValueError("a consensus of neighbours needs neighbours and neighbours_lend of at least 1")
        return self

    @property
    def deciding(self) -> dict[str, Any]:
        """The settings that decide the captions: a sentence beside them does not, nor does what the search ignores."""
        beam = ("beam", "max_words", "length_power", "split", *(["no_repeat"] if self.no_repeat else []))
        sample = ("search", "temperature", "seed", "max_words", "split")
        if self.search == "beam":
            return {name: getattr(self, name) for name in beam}
        if self.search == "sample":
            return {name: getattr(self, name) for name in sample}
        candidates = {
            "sample": (*sample, "samples"),
            "beam": ("search", *beam),
            "neighbours": ("search", "max_words", "split"),
        }[self.consensus_of]
        later = self._unusual("neighbours_in", "neighbours_weight", "neighbours_lend")
        judges = ("neighbours", "neighbours_by", *later)
        named = (*candidates, "consensus_of", "utility", *(judges if self.neighbours else ()))
        return {name: getattr(self, name) for name in named}

    def _unusual(self, *names: str) -> list[str]:
        """Keys that came later: a record without them is of their defaults."""
        return [name for name in names if getattr(self, name) != type(self).model_fields[name].default]
