"""Weights of any network of timm, torchvision or pytorchvideo by its name, as the installed library itself lists them.

`torchvision:resnet50` is the file that was published first and `torchvision:resnet50.IMAGENET1K_V2` a later one;
`timm:resnet18.a1_in1k` names a tag, without which timm has a default. Nothing is asked of a hub to know the address.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from pipeline.core import MissingToolError, UsageError
from pipeline.weights.registry import Weights, WeightsSource

FREE = ("apache-2.0", "mit", "bsd-3-clause", "cc-by-4.0")  # licences that ask for no more than names


@cache
def published(name: str) -> Weights:
    """The entry of LIBRARY:NETWORK or LIBRARY:NETWORK.EDITION."""
    library, _, rest = name.partition(":")
    network, _, edition = rest.partition(".")
    if rest.endswith("."):
        raise UsageError(f"'{name}' names no edition after its point", hint=f"write {name.rstrip('.')}")
    if library not in LIBRARIES:
        raise UsageError(f"'{name}': no library '{library}' publishes weights; known: {', '.join(LIBRARIES)}")
    return LIBRARIES[library](network, edition)


def _torchvision(network: str, edition: str) -> Weights:
    from torchvision.models import get_model_weights, list_models
    from torchvision.transforms._presets import ImageClassification

    _require(network, list_models(), of="torchvision")
    editions = {each.name: each for each in get_model_weights(network)}
    first = next(iter(editions))
    _require(edition or first, editions, of=f"torchvision:{network}")
    chosen: Any = editions[edition or first]
    own_size = chosen.name != first and isinstance(chosen.transforms(), ImageClassification)
    size = chosen.meta["_file_size"]
    source = WeightsSource(url=chosen.url, sha256_prefix=_hash_in(chosen.url), mebibytes=size)
    return Weights(
        description=f"{network}, {chosen.name} (torchvision)",
        licence=chosen.meta.get("license", "BSD-3-Clause"),
        terms="Not torchvision's own licence: read it at that address." if "license" in chosen.meta else "",
        options={"published": chosen.name} if own_size else {},
        sources=(source,),
    )


def _timm(network: str, edition: str) -> Weights:
    import timm

    _require(network, timm.list_models(), of="timm")
    tags = [each.partition(".")[2] for each in timm.list_pretrained(f"{network}.*")]
    if not tags:
        raise UsageError(f"timm publishes no weights of '{network}'")
    _require(edition or tags[0], tags, of=f"timm:{network}")
    facts: Any = timm.get_pretrained_cfg(f"{network}.{edition}" if edition else network)
    licence, source = facts.license or "unknown", _timms_file(facts)
    return Weights(
        description=f"{network}, {facts.tag} (timm)",
        licence=licence,
        terms="" if licence in FREE else f"It may have conditions: read them where the file is, {source.url}",
        options={"published": facts.tag},
        sources=(source,),
    )


def _timms_file(facts: Any) -> WeightsSource:
    """On the hub, where all files have one name; a few are elsewhere only."""
    if facts.hf_hub_id:
        url = f"https://huggingface.co/{facts.hf_hub_id}/resolve/main/model.safetensors"
        return WeightsSource(url=url, name=f"{facts.architecture}.{facts.tag}.safetensors", layout="safetensors")
    return WeightsSource(url=facts.url, sha256_prefix=_hash_in(facts.url))


def _hash_in(address: str) -> str | None:
    """The first digits of the sha256, at the end of a file's name."""
    found = re.search(r"-([0-9a-f]{8,63})\.\w+$", address)
    return found[1] if found else None


def _pytorchvideo(network: str, edition: str) -> Weights:
    from extractors.base import MissingPackageError
    from extractors.parts.video_networks import PYTORCHVIDEO, pytorchvideo_hub

    _require(network, PYTORCHVIDEO, of="pytorchvideo")
    _require(edition, [""], of=f"pytorchvideo:{network}")
    try:
        hub = pytorchvideo_hub(network)
    except MissingPackageError as error:
        raise MissingToolError(
            f"pytorchvideo:{network} needs the package pytorchvideo", hint="pip install 'framescribe[pytorchvideo]'"
        ) from error
    addresses = importlib.import_module(getattr(hub, network).__module__).checkpoint_paths
    return Weights(
        description=f"{network}, Kinetics-400 (pytorchvideo)",
        licence="Apache-2.0",
        mapping="clips",
        sources=(WeightsSource(url=addresses[network]),),
    )


def _detectron2(network: str, edition: str) -> Weights:
    """A configuration of the zoo, without its ending; the zoo has one file of each."""
    _require(edition, [""], of=f"detectron2:{network}")
    try:
        zoo = importlib.import_module("detectron2.model_zoo")
    except ImportError as error:
        raise MissingToolError(f"detectron2:{network} needs detectron2, built from its sources ({error})") from error
    try:
        address = zoo.get_checkpoint_url(f"{network}.yaml")
    except RuntimeError as error:
        raise UsageError(f"detectron2's zoo has no file of '{network}': {error}") from error
    return Weights(
        description=f"{network} (detectron2)",
        licence="Apache-2.0",
        mapping="detectron",
        sources=(WeightsSource(url=address, layout="arrays"),),
    )


def _transformers(network: str, edition: str) -> Weights:
    """A repository of the hub, OWNER/NAME or OWNER/NAME@COMMIT; or NAME alone, a folder of the user's own."""
    name = f"{network}.{edition}" if edition else network
    found = REPOSITORY.fullmatch(name)
    if found is None or ".." in name:
        raise UsageError(
            f"'transformers:{name}': write transformers:OWNER/NAME or transformers:OWNER/NAME@COMMIT, where COMMIT has "
            "40 hexadecimal digits, or transformers:NAME for a folder of yours"
        )
    repository, commit = found["repository"], found["commit"]
    if "/" not in repository:
        source = WeightsSource(url=repository, by_hand="a folder of yours", name=FOLDER_FILES, layout="folder")
        return Weights(description=f"{repository} (yours, for transformers)", licence="yours", sources=(source,))
    url = f"{HUB}/{repository}{f'/tree/{commit}' if commit else ''}"
    licence, terms = LICENCES.get(repository, ("unknown", f"Read it at {url}."))
    source = WeightsSource(url=url, name=FOLDER_FILES, layout="folder")
    return Weights(description=f"{repository} (transformers)", licence=licence, terms=terms, sources=(source,))


HUB = "https://huggingface.co"
REPOSITORY = re.compile(r"(?P<repository>\w[\w.-]*(/\w[\w.-]*)?)(@(?P<commit>[0-9a-f]{40}))?")
FOLDER_FILES = "config.json, preprocessor_config.json, *.safetensors"
NON_COMMERCIAL = ("CC-BY-NC-4.0", "For research: no commercial use.")
LICENCES = {  # of the cards' repositories: name, and what it asks for
    "MCG-NJU/videomae-base-finetuned-kinetics": NON_COMMERCIAL,
    "facebook/timesformer-base-finetuned-k400": NON_COMMERCIAL,
    "facebook/vjepa2-vitl-fpc64-256": ("MIT", ""),
    "microsoft/xclip-base-patch32": ("MIT", ""),
    "MIT/ast-finetuned-audioset-10-10-0.4593": ("BSD-3-Clause", ""),
    "laion/clap-htsat-unfused": ("Apache-2.0", ""),
    "openai/whisper-base": ("Apache-2.0", ""),
    "openai/whisper-tiny": ("Apache-2.0", ""),
}
LIBRARIES = {
    "timm": _timm,
    "torchvision": _torchvision,
    "pytorchvideo": _pytorchvideo,
    "detectron2": _detectron2,
    "transformers": _transformers,
}


def _require(name: str, known: Iterable[str], *, of: str) -> None:
    if name not in (names := list(known)):
        close = difflib.get_close_matches(name, names, n=5) or names[:5]
        raise UsageError(f"{of} has no '{name}'; close to it: {', '.join(close) or 'none'}")
