"""The extractor contract, over names of timm, torchvision and pytorchvideo that nobody chose.

The sample is drawn with a seed that every test's name shows; FRAMESCRIBE_SAMPLE_SEED sets another one.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import timm
import torch
from torchvision import models
from torchvision.models import list_models

from extractors.base import ExtractorError
from extractors.parts.image_networks import LIBRARIES
from extractors.parts.video_networks import PYTORCHVIDEO
from pipeline.core.errors import UsageError
from pipeline.extraction.build_extractor import extractor_of, load_extractor
from pipeline.params.extract import Extract, Sampling
from tests.extractors.awkward import clips_of_both_kinds, extracted, require_contract

SEED = int(os.environ.get("FRAMESCRIBE_SAMPLE_SEED", "0"))
RANDOM = random.Random(SEED)
CHEAP = ["timm:mobilenetv3_small_050", "torchvision:squeezenet1_1", "pytorchvideo:x3d_xs"]
DRAWN = [
    *(f"timm:{name}" for name in RANDOM.sample(timm.list_models(), 8)),
    *(f"torchvision:{name}" for name in RANDOM.sample(list_models(module=models), 4)),
    *(f"torchvision:{name}" for name in RANDOM.sample(list_models(module=models.video), 2)),
    *(f"pytorchvideo:{name}" for name in RANDOM.sample(sorted(PYTORCHVIDEO), 2)),
]
NAMES = [
    *(pytest.param(name, id=name) for name in CHEAP),
    *(pytest.param(name, id=f"seed{SEED}-{name}", marks=pytest.mark.slow) for name in DRAWN),
]
WINDOWS = {"x3d_xs": 4, "x3d_s": 13, "mvit_base_32x3": 32, "csn_r101": 32}  # where another length is not taken
LARGEST = 120  # million parameters; a larger one proves nothing more, and takes the memory of a small machine
MAPLESS = ("no map", "several tensors")  # what a network without `grid` says


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        return clips_of_both_kinds(folder)


def params_of(name: str) -> Extract:
    """Few rows a clip: what is asked is whether they are as declared."""
    library, _, network = name.partition(":")
    if library == "pytorchvideo" or network in list_models(module=models.video):
        window = WINDOWS.get(network, 16)
        rule = Sampling(window=window, stride=50, tail="pad")
        return Extract(family="clips", network=name, weights="random", sampling=rule)
    rule = Sampling(every=50)
    return Extract(family="frames", network=name, weights="random", sampling=rule, outputs=["pool", "grid"])


def million_parameters(params: Extract) -> float:
    library, _, network = params.network.partition(":")
    if params.family == "clips" or library not in LIBRARIES:
        return 0.0  # the largest of these has 54
    with torch.device("meta"):
        model = timm.create_model(network) if library == "timm" else models.get_model(network)
    return sum(each.numel() for each in model.parameters()) / 1e6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.timeout(1800)
def test_what_is_declared_comes_out(name: str, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("pytorchvideo:"):
        pytest.importorskip("pytorchvideo", reason="the extra `pytorchvideo` is not installed")
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    params = params_of(name)
    if (size := million_parameters(params)) > LARGEST:
        pytest.skip(f"{name} has {size:.0f} million parameters, more than {LARGEST}")
    try:
        extractor = extractor_of(params, device="cpu")
    except UsageError as error:
        if not isinstance(error.__cause__, ExtractorError):
            raise
        if not any(words in str(error) for words in MAPLESS):
            pytest.skip(f"refused, and said why: {error}")
        params = params.model_copy(update={"outputs": ["pool"]})
        extractor = extractor_of(params, device="cpu")

    require_contract(extracted(params, tmp_path, index=index), extractor.outputs)
    load_extractor.cache_clear()  # sixteen networks need not lie in memory together
