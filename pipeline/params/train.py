"""The section `train`: per run its model, features and schedule."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from pipeline.params.section import Section, explain_problem

# What a run that reads neither says: dvc.yaml depends on both paths, and DVC knows no optional ones.
NO_RUN = "none"  # runs/none
NO_VECTORS = "weights/words/none.txt"


class Slots(Section):
    """Which store feeds which modality; `none` names the empty store that is part of the repository."""

    appearance: str = "none"
    motion: str = "none"
    regions: str = "none"
    sound: str = "none"
    label: str = "none"  # a class of the whole video, where the data set gives one


def _off(value: float) -> bool:
    """Not written down: what identifies a run without it is what it was before there was such a key."""
    return value == 0


class Schedule(Section):
    """One stage of training."""

    stage: str = ""  # a name that the model knows, for those whose parts take turns
    epochs: int = Field(default=30, gt=0)
    patience: int = Field(default=5, gt=0)  # epochs without a better validation CIDEr
    optimizer: Literal["adamw", "adam", "rmsprop", "adadelta", "sgd"] = "adamw"
    learning_rate: float = Field(default=1e-3, gt=0)
    warmup: int = Field(default=0, ge=0)  # epochs in which the rate rises in a line, with every update
    warmup_from: float = Field(default=1e-7, gt=0)
    drop_after: int = Field(default=0, ge=0)  # epochs after which the rate falls to `drop_to` at once; 0: never
    drop_to: float = Field(default=1e-6, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float = Field(default=5.0, gt=0)  # largest gradient norm
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    feature_dropout: float = Field(default=0.0, ge=0, lt=1, exclude_if=_off)  # share of the features' entries
    slot_dropout: float = Field(default=0.0, ge=0, lt=1, exclude_if=_off)  # of the stores of a video, never all
    frame_dropout: float = Field(default=0.0, ge=0, lt=1, exclude_if=_off)  # of the rows of a video, never all
    word_dropout: float = Field(default=0.0, ge=0, lt=1, exclude_if=_off)  # of the words read, which become <unk>
    weight_average: float = Field(default=0.0, ge=0, lt=1, exclude_if=_off)  # decay of the weights' moving average
    own_words: float = Field(default=0.0, ge=0, le=1)  # scheduled sampling: probability of the model's own word
    own_words_after: float = Field(default=0.0, ge=0)  # inverse sigmoid: k of 1 - k / (k + exp(epoch / k))
    rewards: dict[Literal["cider", "bleu4", "rouge", "meteor"], float] = {}  # self-critical training, when not empty
    samples: int = Field(default=0, ge=0)  # sampled captions per video of a batch; 0: one for each caption there
    baseline: Literal["greedy", "others"] = "greedy"  # of a sampled caption: greedy decoding, or the others' mean
    end_word: bool = False  # count <eos> in CIDEr-D and BLEU-4
    cross_entropy: float = Field(default=1.0, ge=0)  # its weight beside the rewards

    @model_validator(mode="after")
    def one_rule_for_own_words(self) -> Schedule:
        if self.own_words and self.own_words_after:
            raise ValueError("give own_words or own_words_after, not both")
        return self

    @model_validator(mode="after")
    def others_need_company(self) -> Schedule:
        if self.rewards and self.baseline == "others" and self.samples < 2:
            raise ValueError(f"baseline others needs samples of 2 or more (got {self.samples})")
        return self


class Train(Schedule):
    """A run. Its own schedule is the first stage; each entry of `then` says what changes in the next one."""

    model: str  # module in models/
    features: Slots
    tensors: dict[str, str] = {}  # input of the model -> tensor of the store, where it is not the usual one
    options: dict[str, int | float | bool | str] = {}  # the model's own sizes
    batch_size: int = Field(default=64, gt=0)  # captions per step
    parts: int = Field(default=1, gt=0, exclude_if=lambda parts: parts == 1)  # that a batch is cut into, to be shared
    captions_per_video: int = Field(default=0, ge=0)  # in an epoch, drawn anew, in one batch; 0: all, anywhere
    seed: int = 0
    initial: Literal["default", "orthogonal", "uniform"] = "default"  # weights before training
    start_from: str = ""  # a trained run of the same model whose weights are these; none: from nothing
    word_vectors: str = ""  # file of `word x1 x2 ...` lines for the embedding; none.txt: learnt from nothing
    then: list[dict[str, Any]] = []

    @field_validator("start_from", "word_vectors")
    @classmethod
    def nothing_is_empty(cls, value: str) -> str:
        """One spelling of nothing behind the file: what identifies a run knows no other."""
        return "" if value in (NO_RUN, NO_VECTORS) else value

    @model_validator(mode="after")
    def stages_are_schedules(self) -> Train:
        """Checked here, so that a misspelt key is found before hours of training."""
        try:
            _ = self.stages
        except ValidationError as error:
            told = [explain_problem(problem, root=Schedule) for problem in error.errors()]
            raise ValueError(f"then: {'; '.join(told)}") from error
        return self

    @property
    def stages(self) -> list[Schedule]:
        """Each stage is as the one before it, except for what its entry changes; a name is given, never passed on."""
        values = self.model_dump(include=set(Schedule.model_fields))
        found = [Schedule.model_validate(values)]
        for changes in self.then:
            values = {**values, "stage": "", **changes}
            found.append(Schedule.model_validate(values))
        return found
