"""What `registry.yaml` may say: entries, the files they can be made of, and how such a file is proven."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from ruamel.yaml import YAML

RANDOM = "random"  # must be asked for by name; whatever uses it is called untrained
NONE = "none"  # for a method that has no weights, such as TV-L1
WITHOUT_FILE = (RANDOM, NONE)
MEBIBYTE = 2**20
WEIGHTS_FOLDER = Path("weights")
# A `folder` is all files of a network of transformers': configuration, processor and safetensors
Layout = Literal["torch", "arrays", "hdf5", "safetensors", "caffe_blob", "darknet", "folder"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Package(_Facts):
    """A package of the registry that happens to carry the file."""

    requirement: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+==[0-9.]+$")]
    sha256: Sha256  # of the wheel or source archive
    member: str


@dataclass(frozen=True)
class Digests:
    """Both hashes that publishers use, of one file's bytes."""

    sha256: str
    git_blob: str

    @classmethod
    def of(cls, data: bytes) -> Digests:
        blob = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
        blob.update(data)
        return cls(hashlib.sha256(data).hexdigest(), blob.hexdigest())


class WeightsSource(_Facts):
    """One published file, and whatever its publisher says of its bytes."""

    url: str  # of the file, or of the page where a person can get it
    name: str = ""  # of the file, where the address does not end in it
    by_hand: str = ""  # why no program can fetch it
    package: Package | None = None
    layout: Layout = "torch"
    sha256: Sha256 | None = None
    sha256_prefix: Annotated[str, Field(pattern=r"^[0-9a-f]{8,63}$")] | None = None
    git_blob: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    tensors_sha256: Sha256 | None = None  # of what the conversion makes of the file, where we have seen it
    size: int | None = None  # bytes, where published
    mebibytes: float | None = None  # where only about that is known

    @property
    def file_name(self) -> str:
        return self.name or self.url.rsplit("/", 1)[-1]

    @property
    def has_hash(self) -> bool:
        return any((self.sha256, self.sha256_prefix, self.git_blob))

    @property
    def about(self) -> float | None:
        return self.size / MEBIBYTE if self.size else self.mebibytes

    def proof(self, digests: Digests) -> str:
        """Which published hash the bytes have; empty when they have none of them."""
        if digests.sha256 == self.sha256:
            return "sha256"
        if self.sha256 is None and self.sha256_prefix and digests.sha256.startswith(self.sha256_prefix):
            return f"sha256 begins with {self.sha256_prefix}"
        return "git blob" if digests.git_blob == self.git_blob else ""

    @property
    def expected(self) -> str:
        """The published hash in words, for a message or a table."""
        if self.sha256 or self.sha256_prefix:
            return f"sha256 {self.sha256 or f'{self.sha256_prefix}...'}"
        return f"git blob {self.git_blob}" if self.git_blob else "no hash was published"


class Weights(_Facts):
    """Weights of one network: from any of its sources, or a bundle of other entries under prefixes."""

    description: str
    licence: str
    terms: str = ""  # must be accepted with --accept-licence
    mapping: str = ""  # module in extractors/ whose `map_published` turns the file's tree into a state dictionary
    options: dict[str, int | float | bool | str] = {}  # of the extractor, without which these weights would be misused
    sources: tuple[WeightsSource, ...] = ()
    parts: dict[str, str] = {}  # entry -> prefix of its keys

    @model_validator(mode="after")
    def _sources_or_parts(self) -> Weights:
        if bool(self.sources) == bool(self.parts):
            raise ValueError("an entry has either sources or parts")
        return self

    @property
    def is_folder(self) -> bool:
        return bool(self.sources) and self.sources[0].layout == "folder"

    @property
    def composition(self) -> str:
        """The parts as text, for the record of a bundle."""
        return ", ".join(f"{prefix}{part}" for part, prefix in self.parts.items())


def _load() -> dict[str, Weights]:
    text = Path(__file__).with_name("registry.yaml").read_text()
    entries = {name: Weights.model_validate(facts) for name, facts in YAML(typ="safe").load(text).items()}
    for name, weights in entries.items():
        if unknown := weights.parts.keys() - entries.keys():
            raise ValueError(f"registry.yaml: '{name}' has parts that are no entries: {sorted(unknown)}")
    return entries


REGISTRY = _load()
