"""The section `extract`: per extractor its network, weights, sampling and outputs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pipeline.params.section import Section


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
