"""A repository of the hub at one commit: what is in it, the hashes that the hub keeps of it, and the files themselves.

A commit has 40 digits and cannot change; without one in the name, today's is asked for, used and recorded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from pipeline.core import Console, InputError, MissingToolError
from pipeline.weights.download import download
from pipeline.weights.instructions import DOWNLOADS, how_to_get
from pipeline.weights.libraries import HUB
from pipeline.weights.lookup import entry
from pipeline.weights.registry import Digests, Sha256
from pipeline.weights.transformers_folder import CONFIG, INDEX, PROCESSORS, SINGLE, import_folder

WANTED = (CONFIG, *PROCESSORS, INDEX)
MIRROR = "FRAMESCRIBE_HUB"  # another address than the hub's own, such as a mirror inside a company


class _LargeFile(BaseModel):
    oid: Sha256


class HubFile(BaseModel):
    """A line of the hub's listing: git's id of small files, the sha256 of large ones."""

    path: str
    type: str
    oid: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    size: int
    lfs: _LargeFile | None = None

    def require(self, data: bytes, *, where: str) -> None:
        digests = Digests.of(data)
        found, expected = (digests.sha256, self.lfs.oid) if self.lfs else (digests.git_blob, self.oid)
        if found != expected:
            kind = "sha256" if self.lfs else "git blob"
            raise InputError(f"{where}: the hub's {kind} is {expected}, what came has {found}")


def fetch_folder(name: str, *, folder: Path, console: Console) -> None:
    """Bring every file, prove it by the hub's own hash, convert; what was brought is removed, whatever happens."""
    source = entry(name).sources[0]
    if source.by_hand:
        raise MissingToolError(
            f"'{name}' is no repository of the hub: {source.by_hand}", hint=f"framescribe weights import {name} FOLDER"
        )
    place = folder / DOWNLOADS / re.sub(r"[^\w.@-]", "_", name)
    try:
        commit = _bring(source.url, place, console=console)
        import_folder(name, place, into=folder, proof=f"the hub's hashes at commit {commit}", revision=commit)
    except MissingToolError as error:
        raise MissingToolError(
            f"the weights '{name}' could not be fetched\n  {error.message}\n{how_to_get(name, folder=folder)}",
            hint=f"framescribe weights import {name} FOLDER",
        ) from error
    except InputError:
        shutil.rmtree(place, ignore_errors=True)  # what is wrong would be in the way of what is right
        raise
    shutil.rmtree(place)


def _bring(url: str, place: Path, *, console: Console) -> str:
    """All files of one commit that are looked at; what came of an interrupted transfer is gone on with."""
    repository, _, commit = url.removeprefix(f"{HUB}/").partition("/tree/")
    hub = os.environ.get(MIRROR, HUB).rstrip("/")
    api = f"{hub}/api/models/{quote(repository)}"
    commit = commit or _todays_commit(f"{api}/revision/main", place)
    files = _chosen(_listing(f"{api}/tree/{commit}", place), repository=repository)
    for each in files:
        target = place / each.path
        if not target.is_file():
            address = f"{hub}/{quote(repository)}/resolve/{commit}/{quote(each.path)}"
            download(address, target, size=each.size, console=console)
        each.require(target.read_bytes(), where=f"{repository}/{each.path}")
    return commit


def _todays_commit(address: str, place: Path) -> str:
    facts = _json(address, place)
    commit = facts.get("sha") if isinstance(facts, dict) else None
    if not isinstance(commit, str) or not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise InputError(f"{address} names no commit")
    return commit


def _listing(address: str, place: Path) -> list[HubFile]:
    try:
        return TypeAdapter(list[HubFile]).validate_python(_json(address, place))
    except ValidationError as error:
        raise InputError(f"{address} is no listing of files: {error.error_count()} things are wrong") from error


def _json(address: str, place: Path) -> Any:
    """Answers are as new as the question: none is kept."""
    target = place / "answer.json"
    target.unlink(missing_ok=True)
    download(address, target, console=Console(quiet=True))
    try:
        return json.loads(target.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{address} did not answer with JSON: {error}") from error
    finally:
        target.unlink()


def _chosen(files: list[HubFile], *, repository: str) -> list[HubFile]:
    """Configurations, and one edition of the weights: never a file that could hold code."""
    here = {each.path: each for each in files if each.type == "file" and Path(each.path).name == each.path}
    shards = [path for path in here if fnmatch(path, "model-*-of-*.safetensors")] if INDEX in here else []
    weights = [SINGLE] if SINGLE in here else shards
    if not weights:
        raise InputError(f"{repository} has no {SINGLE}, and no {INDEX} with its parts; pickles are not read")
    wanted = [path for path in (*WANTED, *weights) if path in here and not (path == INDEX and weights != shards)]
    return [here[path] for path in wanted]
