"""A folder as transformers writes it, made into one file of weights: tensors, configuration and processor together.

Of `config.json`, `preprocessor_config.json` and `*.safetensors`, one file or several, nothing is run: no module of the
publisher's, no pickle. What does not belong to the network, such as a text tower, is left out; what is missing is told.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pipeline.core import InputError, MissingToolError
from pipeline.store import spec_of
from pipeline.weights.converted import FIRST_USE, WEIGHTS_FOLDER, origin, write_converted
from pipeline.weights.reading import LIMIT, read_published
from pipeline.weights.registry import WITHOUT_FILE

if TYPE_CHECKING:
    import torch

CONFIG, SINGLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
# The newest name last; in `processor_config.json` it is one part of several
PROCESSORS = ("preprocessor_config.json", "video_preprocessor_config.json", "processor_config.json")
PROCESSOR_PARTS = ("video_processor", "image_processor", "feature_extractor")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack")
OWN_CODE = ("auto_map", "custom_pipelines")
STATED = ("config", "processor")  # of the record; options of the family


@dataclass(frozen=True)
class PublishedFolder:
    network: str  # transformers:MODEL_TYPE
    config: dict[str, Any]
    processor: dict[str, Any]
    state: dict[str, torch.Tensor]
    sha256: dict[str, str]  # of every file that was read


def import_folder(
    name: str, folder: Path, *, into: Path = WEIGHTS_FOLDER, proof: str = FIRST_USE, revision: str = ""
) -> Path:
    """Everything is read and fitted before anything is written."""
    found = read_folder(folder)
    arrays = {key: tensor.contiguous().numpy() for key, tensor in found.state.items()}
    files = "".join(f"{sha256}  {file}\n" for file, sha256 in sorted(found.sha256.items()))
    record = {
        "network": found.network,
        "config": _text(found.config),
        "processor": _text(found.processor),
        "files": files,  # as `sha256sum` writes them
        "origin_sha256": hashlib.sha256(files.encode()).hexdigest(),
        "proof": proof,
        **({"revision": revision} if revision else {}),
    }
    specs = {key: spec_of(array) for key, array in arrays.items()}
    return write_converted(name, specs, arrays.__getitem__, folder=into, record=record)


def stated_options(name: str) -> dict[str, str]:
    """What the weights' own file says of their network, as options of the extractor."""
    facts = {} if name in WITHOUT_FILE else origin(name)
    return {key: facts[key] for key in STATED if key in facts}


def read_folder(folder: Path) -> PublishedFolder:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder with {CONFIG}, {PROCESSORS[0]} and *.safetensors")
    sha256: dict[str, str] = {}
    config = _facts(folder, CONFIG, sha256)
    _refuse_own_code(config, folder / CONFIG)
    if "quantization_config" in config:
        raise InputError(f"{folder / CONFIG}: quantised weights are not read; take the ones in whole precision")
    processor = _processor(folder, sha256)
    _refuse_own_code(processor, folder)
    tensors = _tensors(folder, sha256)
    network, state = _fitted(config, processor, tensors, folder)
    return PublishedFolder(network, config, processor, state, sha256)


def _fitted(
    config: dict[str, Any], processor: dict[str, Any], tensors: dict[str, torch.Tensor], folder: Path
) -> tuple[str, dict[str, torch.Tensor]]:
    """As the extractor will load it; what it would refuse then is refused now."""
    networks, inputs = _module("parts.transformer_networks"), _module("parts.transformer_inputs")
    refusals = _module("base")
    network = f"{networks.LIBRARY}:{networks.plain_type(str(config.get('model_type', '')))}"
    try:
        kind = networks.architecture(network)
        inputs.processor_of(network, kind, processor)
        return network, networks.fitted_state(network, networks.configured(network, config), tensors)
    except refusals.MissingPackageError as error:
        raise MissingToolError(str(error), hint=f"pip install 'framescribe[{error.extra}]'") from error
    except refusals.ExtractorError as error:
        raise InputError(f"{folder}: {error}") from error


def _module(name: str) -> ModuleType:
    """Only when needed: it imports torch."""
    return importlib.import_module(f"extractors.{name}")


def _refuse_own_code(facts: Mapping[str, Any], where: Path) -> None:
    asked = [key for key in OWN_CODE if facts.get(key)]
    if asked:
        raise InputError(
            f"{where} asks for code of its publisher ({', '.join(asked)}), which is never run",
            hint="take the edition that transformers itself knows, without auto_map",
        )


def _processor(folder: Path, sha256: dict[str, str]) -> dict[str, Any]:
    for name in PROCESSORS:
        if not (folder / name).is_file():
            continue
        facts = _facts(folder, name, sha256)
        if name != PROCESSORS[-1]:
            return facts
        if parts := [facts[part] for part in PROCESSOR_PARTS if isinstance(facts.get(part), dict)]:
            return parts[0]
    raise InputError(
        f"{folder} has none of {', '.join(PROCESSORS)}: it is not known how its pictures or sounds are prepared",
        hint=f"put the publisher's {PROCESSORS[0]} beside {CONFIG}",
    )


def _tensors(folder: Path, sha256: dict[str, str]) -> dict[str, torch.Tensor]:
    in_parts = (folder / INDEX).is_file() and not (folder / SINGLE).is_file()
    index = _facts(folder, INDEX, sha256).get("weight_map", {}) if in_parts else {}
    tensors: dict[str, torch.Tensor] = {}
    for name in _shards(folder, index):
        tensors |= read_published(_bytes(folder, name, sha256), layout="safetensors", source=str(folder / name))
    lacking = sorted(set(index) - set(tensors))
    if lacking:
        raise InputError(f"{folder}: {len(lacking)} tensors of {INDEX} are in no file, the first is {lacking[0]}")
    return tensors


def _shards(folder: Path, index: Mapping[str, Any]) -> list[str]:
    if index:
        return sorted({str(name) for name in index.values()})
    found = sorted(path.name for path in folder.glob("*.safetensors"))
    if SINGLE in found:
        return [SINGLE]  # others beside it are of other precisions
    if len(found) == 1:
        return found
    if found:
        raise InputError(f"{folder} has {len(found)} safetensors files and no {INDEX}: how do they belong together?")
    raise InputError(f"{folder} has no *.safetensors{_pickles(folder)}")


def _pickles(folder: Path) -> str:
    found = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if not found:
        return ""
    return f", only {', '.join(found)}, which can run code when read and are not: save them as safetensors elsewhere"


def _facts(folder: Path, name: str, sha256: dict[str, str]) -> dict[str, Any]:
    try:
        facts = json.loads(_bytes(folder, name, sha256))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / name} is not JSON: {error}") from error
    if not isinstance(facts, dict):
        raise InputError(f"{folder / name} is no table of names and values")
    return facts


def _bytes(folder: Path, name: str, sha256: dict[str, str]) -> bytes:
    """Hashed as it is read. A name that leads out of the folder is of nobody's."""
    path = folder / name
    if Path(name).name != name or not path.is_file():
        raise InputError(f"{folder} has no file {name!r}")
    if (size := path.stat().st_size) > LIMIT:
        raise InputError(f"{path} has {size:,} bytes; at most {LIMIT:,} are read")
    data = path.read_bytes()
    sha256[name] = hashlib.sha256(data).hexdigest()
    return data


def _text(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True)
