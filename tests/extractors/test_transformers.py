"""The family `transformers` against transformers itself: same folder, same frames or sound, same numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from extractors import transformers as family
from extractors.base import AudioExtractor, Extractor, ExtractorError, UnknownOutputError
from pipeline import weights
from pipeline.core.errors import MissingToolError, UsageError
from pipeline.extraction.build_extractor import extractor_of
from pipeline.params.extract import Extract, Sampling
from tests.extractors.recorded_cases import picture, sound
from tests.extractors.tiny_transformers import TINY, published_folder

library = pytest.importorskip("transformers", reason="the extra `transformers` is not installed")
PICTURES = [name for name, tiny in TINY.items() if family.takes_of(f"transformers:{name}") == "frames"]
CLIPS = [name for name, tiny in TINY.items() if tiny.window]
SOUNDS = [name for name in TINY if name not in (*PICTURES, *CLIPS)]
ALIGNED = ("clip", "siglip", "xclip", "clap")
LEVEL = 1 / 255 / 0.2  # one grey level after normalisation, at a standard deviation below all of these


@pytest.fixture(scope="module", params=TINY)
def network(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(network: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_folder(network, tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def ours(network: str, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Extractor:
    return imported(network, folder, into=tmp_path_factory.mktemp("weights"))


def imported(network: str, folder: Path, *, into: Path, outputs: list[str] | None = None) -> Extractor:
    """As in `weights import` and `extract`: of one file of weights, and nothing else."""
    name = f"transformers:{network}"
    weights.import_files(name, [folder], folder=into)
    facts, state = weights.origin(name, folder=into), weights.load_weights(name, folder=into)
    wanted = outputs or ["pool", "tokens", "hidden.0", "hidden.2", *(["embed"] if network in ALIGNED else [])]
    lengths = {"window": TINY[network].window} if TINY[network].window else {}
    return family.build(
        name, outputs=wanted, weights=state, **lengths, config=facts["config"], processor=facts["processor"]
    )


def published(network: str, folder: Path) -> tuple[Tensor, dict[str, Tensor]]:
    """Prepared input and features by the publisher's own classes, which transformers finds by itself in the folder."""
    inputs = publishers_input(network, folder)
    model = library.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return inputs, PUBLISHERS[network](model, inputs)


def publishers_input(network: str, folder: Path) -> Tensor:
    if network in SOUNDS:
        processor = library.AutoFeatureExtractor.from_pretrained(folder)
        samples = sound(processor.sampling_rate)[: window_of(processor)]
        found = processor(samples, sampling_rate=processor.sampling_rate, return_tensors="pt")
    elif network == "vjepa2":
        processor = library.AutoVideoProcessor.from_pretrained(folder)
        found = processor(np.stack([picture(number) for number in range(4)]), return_tensors="pt")
    else:
        processor = library.AutoImageProcessor.from_pretrained(folder)
        frames = [picture(number) for number in range(TINY[network].window or 1)]
        found = processor(frames if TINY[network].window else frames[0], return_tensors="pt")
    return next(iter(found.values()))


def window_of(processor: Any) -> int:
    return {"AST": 127 * 160 + 400, "Cla": 2 * 48_000, "Whi": 2 * 16_000}[type(processor).__name__[:3]]


def with_layers(found: Any, pool: Tensor, *, embed: Tensor | None = None) -> dict[str, Tensor]:
    layers = {"tokens": found.last_hidden_state, "hidden.0": found.hidden_states[0], "hidden.2": found.hidden_states[2]}
    return {"pool": pool, **layers, **({} if embed is None else {"embed": embed})}


def of_clip(model: Any, pixels: Tensor) -> dict[str, Tensor]:
    found = model.vision_model(pixel_values=pixels, output_hidden_states=True)
    features = model.get_image_features(pixel_values=pixels)
    return with_layers(found, found.pooler_output, embed=getattr(features, "pooler_output", features))


def of_xclip(model: Any, pixels: Tensor) -> dict[str, Tensor]:
    found = model.get_video_features(pixel_values=pixels, output_hidden_states=True)
    rows = with_layers(found, found.pooler_output, embed=found.pooler_output)
    return {name: each if each.ndim == 2 else each.reshape(1, 4, *each.shape[1:]) for name, each in rows.items()}


def of_clap(model: Any, features: Tensor) -> dict[str, Tensor]:
    """transformers' own `get_audio_features` divides by the length; ours is the vector before that."""
    found = model.audio_model(input_features=features, output_hidden_states=True)
    rows = with_layers(found, found.pooler_output, embed=model.audio_projection(found.pooler_output))
    return {name: each.movedim(1, -1) if each.ndim == 4 else each for name, each in rows.items()}


def of_maps(model: Any, pixels: Tensor) -> dict[str, Tensor]:
    found = model(pixels, output_hidden_states=True)
    rows = with_layers(found, found.pooler_output)
    return {name: each.movedim(1, -1) if each.ndim == 4 else each for name, each in rows.items()}


def of_pooled(model: Any, inputs: Tensor) -> dict[str, Tensor]:
    found = model(inputs, output_hidden_states=True)
    return with_layers(found, found.pooler_output)


def of_averaged(model: Any, inputs: Tensor) -> dict[str, Tensor]:
    found = model(inputs, output_hidden_states=True)
    return with_layers(found, found.last_hidden_state.mean(1))


def of_first_token(model: Any, inputs: Tensor) -> dict[str, Tensor]:
    found = model(inputs, output_hidden_states=True)
    return with_layers(found, found.last_hidden_state[:, 0])


PUBLISHERS: dict[str, Callable[[Any, Tensor], dict[str, Tensor]]] = {
    "clip": of_clip,
    "siglip": of_clip,
    "dinov2": of_pooled,
    "dinov2_with_registers": of_pooled,
    "dinov3_vit": of_pooled,
    "dinov3_convnext": of_maps,
    "videomae": of_averaged,
    "timesformer": of_first_token,
    "vjepa2": of_averaged,
    "xclip": of_xclip,
    "audio-spectrogram-transformer": of_pooled,
    "clap": of_clap,
    "whisper": lambda model, features: of_averaged(model.encoder, features),
}


def prepared(extractor: Extractor, network: str) -> Tensor:
    if isinstance(extractor, AudioExtractor):
        return extractor.prepare(sound(extractor.rate)[: extractor.window])[None]
    frames = [extractor.prepare(picture(number)) for number in range(TINY[network].window or 1)]
    return torch.stack(frames)[None] if TINY[network].window else frames[0][None]


def test_features_and_inputs_are_those_of_transformers(network: str, folder: Path, ours: Extractor) -> None:
    inputs, theirs = published(network, folder)
    batch = prepared(ours, network)

    rows = ours(batch)

    tolerance = 1e-6 if network in SOUNDS else 1.01 * LEVEL
    assert float((batch - inputs).abs().max()) <= tolerance
    assert set(rows) == set(theirs)
    for name, expected in theirs.items():
        assert rows[name].shape == expected.shape == (1, *ours.outputs[name]), name
        assert float((rows[name] - expected).norm() / expected.norm()) < 1e-5, name
        assert float(expected.std()) > 1e-3, f"{name} hardly varies: it would prove nothing"


def test_a_thousandth_on_one_tensor_would_be_seen(network: str, ours: Extractor) -> None:
    """The comparison above can fail."""
    batch = prepared(ours, network)
    before = ours(batch)
    named = ours.network.named_parameters()  # type: ignore[attr-defined]
    kernel = next(weight for name, weight in named if weight.ndim > 2 and name.endswith(".weight"))

    with torch.no_grad():
        kept = kernel.clone()
        kernel += 1e-3 * kernel.abs().max() * torch.randn_like(kernel)
        changed = ours(batch)
        kernel.copy_(kept)

    assert max(float((changed[name] - each).norm() / each.norm()) for name, each in before.items()) > 1e-5


@pytest.mark.parametrize("seconds", [0.5, 1.25])
def test_a_short_window_of_whisper_keeps_the_tokens_of_its_sound(seconds: float, tmp_path: Path) -> None:
    options = TINY["whisper"].options("whisper")
    short = family.build("transformers:whisper", outputs=["pool", "tokens"], weights=None, seconds=seconds, **options)
    whole = family.build("transformers:whisper", outputs=["tokens"], weights=None, **options)
    assert isinstance(short, AudioExtractor)
    assert isinstance(whole, AudioExtractor)
    samples = np.zeros(whole.window, np.float32)
    samples[: short.window] = sound(16_000)[: short.window]

    rows = short(short.prepare(samples[: short.window])[None])

    expected = whole(whole.prepare(samples)[None])["tokens"][:, : round(50 * seconds + 0.49)]
    torch.testing.assert_close(rows["tokens"], expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(rows["pool"], expected.mean(1), rtol=1e-5, atol=1e-6)


def built(network: str, **changes: Any) -> Extractor:
    tiny = TINY[network]
    settings = {"outputs": ["pool"], "window": tiny.window, **tiny.options(network), **changes}
    return family.build(f"transformers:{network}", weights=settings.pop("weights", None), **settings)


def refused(network: str, **changes: Any) -> str:
    with pytest.raises(ExtractorError) as caught:
        built(network, **changes)
    return str(caught.value)


def test_what_cannot_be_built_is_said() -> None:
    fused = json.dumps({"audio_config": {"enable_fusion": True}})
    tall = json.dumps({"size": {"shortest_edge": 32}, "do_center_crop": False})

    assert "does not take windows of 6 frames" in refused("videomae", window=6)
    assert "made for 4 frames" in refused("videomae", window=6)
    assert "configuration is of 'clip', the network is 'transformers:siglip'" in refused(
        "siglip", config='{"model_type": "clip"}'
    )
    assert "'EvilProcessor'; allowed: BitImageProcessor" in refused(
        "clip", processor='{"image_processor_type": "EvilProcessor"}'
    )
    assert "features need one size" in refused("clip", processor=tall)
    assert "chooses parts of a sound at random" in refused("clap", config=fused)
    assert "seconds is 31; transformers:whisper takes at most 2" in refused("whisper", seconds=31)
    assert "no option seconds" in refused("clip", seconds=1.0)
    assert "config.json is not JSON" in refused("clip", config="{")
    assert "not the weights of transformers:clip" in refused("clip", weights={"another": torch.zeros(1)})


def test_an_unknown_output_lists_the_known() -> None:
    with pytest.raises(UnknownOutputError, match=r"\['embed'\]; it has: pool, tokens, hidden\.N"):
        built("videomae", outputs=["embed"])
    with pytest.raises(UnknownOutputError, match=r"\['hidden\.7'\]; it has: pool, tokens, hidden\.0, .*hidden\.2"):
        built("videomae", outputs=["hidden.7"])


def test_code_of_a_publisher_is_not_in_the_configuration() -> None:
    """Attention can be named by the address of a kernel, which transformers would fetch and run."""
    config = json.loads(TINY["dinov2"].options("dinov2")["config"])
    config |= {"attn_implementation": "kernels-community/evil", "auto_map": {"AutoModel": "evil.Evil"}}

    assert built("dinov2", config=json.dumps(config)).outputs == {"pool": (32,)}


def entry(network: str, sampling: Sampling) -> Extract:
    return Extract(family="transformers", network=network, weights="random", sampling=sampling)


def test_each_network_takes_its_own_kind_of_sampling() -> None:
    with pytest.raises(UsageError, match="'transformers' takes clips: its sampling must give window and stride"):
        extractor_of(entry("transformers:videomae", Sampling(every=1)), device="cpu")
    with pytest.raises(UsageError, match="'transformers' takes audio: its sampling must give hop"):
        extractor_of(entry("transformers:whisper", Sampling(every=1)), device="cpu")
    with pytest.raises(UsageError, match=r"write transformers:MODEL_TYPE, with one of clip, siglip"):
        extractor_of(entry("transformers:bert", Sampling(every=1)), device="cpu")


def test_without_the_extra_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)

    with pytest.raises(MissingToolError) as caught:
        extractor_of(entry("transformers:dinov2", Sampling(every=3)), device="cpu")
    assert "transformers:dinov2 needs the package transformers" in str(caught.value)
    assert caught.value.hint == "pip install 'framescribe[transformers]'"
