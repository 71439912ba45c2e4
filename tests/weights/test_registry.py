"""The registry as a whole: every entry says where it is from, what proves it, under what licence, and who reads it."""

from __future__ import annotations

import importlib
import re
from urllib.parse import urlsplit

import pytest
import timm
from pydantic import ValidationError
from torchvision.models import WeightsEnum, get_model_weights, list_models

from pipeline.weights import RANDOM, REGISTRY, Package, Weights, WeightsSource

PAPERS = {  # what the five papers use, and the demo
    *("inception_v4", "resnext101_3d", "i3d_rgb", "i3d_flow", "c3d", "resnet152", "resnext101_32x8d", "ir_csn152"),
    *("faster_rcnn_vg", "fasterrcnn_resnet50_fpn_coco", "maskrcnn_resnet50_fpn_coco", "vggish", "vggish_pca"),
    *("openl3_mel256_env", "raft_large", "raft_small", "spynet", "soundnet", "efficientnet_lite0", "mobilenet_v2"),
    *("vatex_regions", "i3d_flow_raft_large", "i3d_flow_spynet"),
}
SOURCES = [
    pytest.param(source, id=f"{name}-{number}")
    for name, weights in REGISTRY.items()
    for number, source in enumerate(weights.sources)
]


def test_what_the_papers_need_is_there() -> None:
    assert set(REGISTRY) >= PAPERS
    assert RANDOM not in REGISTRY


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_can_be_found_by_a_person(source: WeightsSource) -> None:
    address = urlsplit(source.url)

    assert address.scheme in {"https", "http"}
    assert address.hostname
    assert re.fullmatch(r"[\w.-]+", source.file_name)
    assert source.package is None or source.sha256, "what a package carries is pinned by its whole hash"
    if source.package:
        assert source.package.member.endswith(source.file_name)


@pytest.mark.parametrize("source", [each for each in SOURCES if "-" in each.values[0].file_name])
def test_the_hash_in_a_files_name_is_the_one_that_is_checked(source: WeightsSource) -> None:
    """torchvision, OpenMMLab and others end names in the first eight digits of the sha256."""
    told = re.search(r"-([0-9a-f]{8})\.pth$", source.file_name)
    if told:
        assert (source.sha256 or source.sha256_prefix or "").startswith(told[1])


@pytest.mark.parametrize("name", REGISTRY)
def test_every_entry_has_a_reader_and_a_licence(name: str) -> None:
    weights = REGISTRY[name]

    assert weights.licence
    assert set(weights.parts) <= {part for part, each in REGISTRY.items() if each.sources}
    if "-NC" in weights.licence and weights.sources:
        assert weights.terms, "non-commercial weights are shown and accepted"
    if weights.mapping:
        module = importlib.import_module(f"extractors.{weights.mapping}")
        assert callable(module.map_published)


@pytest.mark.parametrize(
    "wrong",
    [
        {"description": "x", "licence": "MIT"},
        {"description": "x", "licence": "MIT", "sources": [{"url": "https://a/b", "sha256": "12"}]},
        {"description": "x", "licence": "MIT", "sources": [{"url": "https://a/b", "sha265": "0" * 64}]},
        {"description": "x", "licence": "MIT", "sources": [{"url": "https://a/b"}], "parts": {"a.": "b"}},
    ],
    ids=["no source", "short hash", "misspelt", "both"],
)
def test_an_entry_that_makes_no_sense_is_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        Weights.model_validate(wrong)


def test_a_package_is_pinned_to_one_version() -> None:
    with pytest.raises(ValidationError):
        Package(requirement="some-package>=1.0", sha256="0" * 64, member="x")


TORCHVISION = {each.url: each for name in list_models() for each in get_model_weights(name)}
ITS_OWN = {
    name: TORCHVISION[source.url]
    for name, weights in REGISTRY.items()
    for source in weights.sources
    if source.url in TORCHVISION
}


@pytest.mark.parametrize(("name", "published"), ITS_OWN.items(), ids=ITS_OWN.keys())
def test_labels_of_torchvisions_weights_are_torchvisions(name: str, published: WeightsEnum) -> None:
    """Accuracies, sizes and whose weights they are, as the installed library says."""
    label, (source, *_) = REGISTRY[name].description, REGISTRY[name].sources
    metrics = {kind: value for each in published.meta["_metrics"].values() for kind, value in _flat(each).items()}
    stated = re.findall(r"(top-1|box AP|end-point error) ([\d.]+)", label)
    keys = {"top-1": "acc@1", "box AP": "box_map", "end-point error": "epe"}
    clean = published.meta["_metrics"].get("Sintel-Test-Cleanpass", {})

    assert source.mebibytes == pytest.approx(published.meta["_file_size"], abs=0.06)
    for kind, number in stated:
        found = {**metrics, **_flat(clean)}[keys[kind]]
        assert f"{found:.{len(number.partition('.')[2])}f}" == number
    assert ("the authors' weights" in label) == ("ported from the original paper" in published.meta["_docs"])


@pytest.mark.parametrize("name", [name for name, each in REGISTRY.items() if "for timm's " in each.description])
def test_licences_and_addresses_of_timms_networks_are_timms(name: str) -> None:
    """Ours may name the licence of a port beside it."""
    weights = REGISTRY[name]
    facts = timm.get_pretrained_cfg(weights.description.rpartition("for timm's ")[2])

    assert facts.license.lower() in weights.licence.lower()
    addresses = [source.url for source in weights.sources if "huggingface" in source.url]
    assert all(address.startswith(f"https://huggingface.co/{facts.hf_hub_id}/") for address in addresses)


def _flat(metrics: object) -> dict[str, float]:
    return metrics if isinstance(metrics, dict) else {}


def test_i3d_is_called_what_it_is() -> None:
    """i3d_rgb once claimed DeepMind's training and accuracy; the file is TF-Hub's module."""
    ours, theirs = REGISTRY["i3d_rgb"].description, REGISTRY["i3d_rgb_imagenet"].description

    assert "i3d-kinetics-400" in ours
    assert "top-1" not in ours
    assert "ImageNet then" not in ours
    assert "rgb_imagenet, top-1 71.1" in theirs
    assert "pair is i3d_rgb_imagenet" in REGISTRY["i3d_flow"].description


def test_no_label_of_weights_states_an_activation_that_the_extractor_decides() -> None:
    assert "ReLU" not in REGISTRY["vggish"].description
