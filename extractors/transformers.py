"""Networks of transformers on frames, clips or sound: `transformers:MODEL_TYPE`, such as `transformers:videomae`.

Outputs: `pool`, one vector; `embed`, the one that is compared with text, where there is one; `tokens`, the last layer;
`hidden.N`, what layer N gives (0: what the first is given). Which is which: `extractors.parts.transformer_networks`.
`config` and `processor` are the publisher's config.json and preprocessor_config.json as text; they come with the
weights. `seconds` is the length of a row of sound; 0 is what the network was made for, and the longest there is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from extractors.base import AudioExtractor, Extractor, ExtractorError, Takes, UnknownOutputError, make_network
from extractors.parts.network import NetworkExtractor
from extractors.parts.transformer_inputs import (
    described,
    longest_sound,
    picture,
    processor_of,
    require_one_size,
    spectrum,
)
from extractors.parts.transformer_networks import (
    TransformerNetwork,
    architecture,
    bare_model,
    configured,
    remember_positions,
)

VERSION = 1


def takes_of(network: str) -> Takes:
    return architecture(network).takes


def sampling_of(network: str, *, config: str, processor: str) -> dict[str, float | int | str]:
    """Rows that follow each other without a gap, each as long as the network was made for."""
    kind = architecture(network)
    if kind.takes == "frames":
        return {"every": 5}
    if kind.takes == "clips":
        window = _own_frames(configured(network, stated(config, "config.json"))) or 16
        return {"every": 2, "window": window, "stride": window, "tail": "pad"}
    inputs = processor_of(network, kind, stated(processor, "preprocessor_config.json"))
    return {"hop": longest_sound(inputs) / inputs.sampling_rate}


class TransformerExtractor(NetworkExtractor):
    """Of frames, or of clips when there is a window."""

    def __init__(self, network: TransformerNetwork, processor: Any, *, window: int | None, device: str) -> None:
        self.takes = network.kind.takes
        self.processor, self.preprocessing = processor, described(processor)
        lengths, size = [] if window is None else [window], require_one_size(processor, network.name)
        remember_positions(network, size)
        self.prepare_for_inference(network, row=(*lengths, *size), device=device)

    def prepare(self, frame: np.ndarray) -> Tensor:
        return picture(self.processor, frame)  # (3, H, W)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        return self.network(batch)


class SoundTransformerExtractor(NetworkExtractor, AudioExtractor):
    def __init__(self, network: nn.Module, processor: Any, *, window: int, device: str) -> None:
        self.processor, self.rate, self.window = processor, int(processor.sampling_rate), window
        self.preprocessing = {**described(processor), "window": window}
        example = spectrum(processor, np.zeros(window, np.float32))
        self.prepare_for_inference(network, row=example.shape, device=device)

    def prepare(self, samples: np.ndarray) -> Tensor:
        return spectrum(self.processor, samples)

    def forward(self, batch: Tensor) -> dict[str, Tensor]:
        return self.network(batch)


def build(
    network: str,
    *,
    outputs: Sequence[str],
    weights: Mapping[str, Tensor] | None,
    window: int | None = None,
    device: str = "cpu",
    config: str = "",
    processor: str = "",
    seconds: float = 0.0,
) -> Extractor:
    kind, facts = architecture(network), configured(network, stated(config, "config.json"))
    inputs = processor_of(network, kind, stated(processor, "preprocessor_config.json"))
    if getattr(facts, "enable_fusion", False) or getattr(inputs, "truncation", "") == "fusion":
        raise ExtractorError(f"{network} with fusion chooses parts of a sound at random; take weights without fusion")
    model = make_network(network, lambda: bare_model(network, facts), weights)
    if kind.takes != "audio" and seconds:
        raise ExtractorError(f"{network} takes {kind.takes}: it has no option seconds")
    try:
        if kind.takes == "audio":
            return _of_sound(model, inputs, network=network, outputs=outputs, seconds=seconds, device=device)
        tapped = TransformerNetwork(model, network=network, outputs=outputs)
        return TransformerExtractor(tapped, inputs, window=window, device=device)
    except UnknownOutputError:
        raise
    except (RuntimeError, ValueError, TypeError) as error:
        raise ExtractorError(f"{network} does not take {_offered(kind.takes, window)}: {error}{_own(facts)}") from error


def stated(text: str, file: str) -> dict[str, Any]:
    """A publisher's file as text; nothing stated is nothing but defaults."""
    try:
        facts = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise ExtractorError(f"{file} is not JSON: {error}") from error
    if not isinstance(facts, dict):
        raise ExtractorError(f"{file} is no table of names and values")
    return facts


def _of_sound(
    model: Any, processor: Any, *, network: str, outputs: Sequence[str], seconds: float, device: str
) -> SoundTransformerExtractor:
    """Of a shorter window than Whisper's, the tokens of its sound are kept: the rest is of zeros that fill it up."""
    longest, rate = longest_sound(processor), processor.sampling_rate
    window = round(seconds * rate) or longest
    if not 0 < window <= longest:
        raise ExtractorError(f"seconds is {seconds}; {network} takes at most {longest / rate:g}")
    shorter = window < longest and network.endswith(":whisper")
    tokens = math.ceil(model.config.max_source_positions * window / longest) if shorter else None
    tapped = TransformerNetwork(model, network=network, outputs=outputs, tokens=tokens)
    return SoundTransformerExtractor(tapped, processor, window=window, device=device)


def _offered(takes: Takes, window: int | None) -> str:
    return f"windows of {window} frames" if takes == "clips" else f"{takes} of this processor"


def _own(config: Any) -> str:
    frames = _own_frames(config)
    return f" (it was made for {frames} frames)" if frames else ""


def _own_frames(config: Any) -> int | None:
    """The length that the network was made for, where it says so."""
    inner = getattr(config, "vision_config", config)
    return getattr(inner, "num_frames", getattr(inner, "frames_per_clip", None))
