"""Feature stores at a URL: shards under the names of their content, `store.json` last.

Until `store.json` is there, nothing is; when it is replaced, readers see the old store or the new one, never a mixture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core import (
    SILENT,
    DamageError,
    InputError,
    Progress,
    cache_folder,
    file_sha256,
    fresh_folder,
    record_sha256,
)
from pipeline.remote import AbsentError, below, fetch, remove, require_url, send
from pipeline.store.manifest import MANIFEST, read_manifest, shard_name

_SHARD = re.compile(r"shard-\d{4,}\.safetensors")


def push(folder: Path, url: str, *, progress: Progress = SILENT) -> dict[str, int]:
    """Upload a store, each shard checked on the way; what is there already is not sent again."""
    url, manifest = require_url(url), read_manifest(folder)
    present = _present(url)
    sent = 0
    for name, facts in manifest["shards"].items():
        if (target := shard_url(url, facts)) not in present:
            _require_sha256(folder / name, facts, hint=f"framescribe store repair {folder}")
            send(folder / name, target)
            sent += 1
        progress.advance(note=name)
    send(folder / MANIFEST, f"{url}/{MANIFEST}")
    needed = {shard_url(url, facts) for facts in manifest["shards"].values()}
    for left in [each for each in present if each.startswith(f"{url}/shards/") and each not in needed]:
        remove(left)  # of the store that this one replaced
    return {"sent": sent, "kept": len(manifest["shards"]) - sent}


def pull(url: str, folder: Path, *, progress: Progress = SILENT) -> dict[str, int]:
    """Make `folder` the store at a URL; shards that it has already are not fetched, and every one is checked."""
    url = require_url(url)
    with fresh_folder(folder, known_by=MANIFEST) as temporary:
        shards = _fetched_manifest(url, temporary)["shards"]
        kept = 0
        for name, facts in shards.items():
            if _linked(folder / name, temporary / name, facts):
                kept += 1
            else:
                _fetch_shard(url, temporary / name, facts)
            progress.advance(note=name)
    return {"fetched": len(shards) - kept, "kept": kept}


def mirror(url: str) -> Path:
    """The folder of the cache that is the store at a URL as it is now."""
    folder = cache_folder("stores") / record_sha256(require_url(url))[:16] / url.rstrip("/").rsplit("/", 1)[-1]
    pull(url, folder)
    return folder


def shard_url(url: str, facts: Mapping[str, Any]) -> str:
    return f"{url}/shards/{facts['sha256']}.safetensors"


def _present(url: str) -> set[str]:
    try:
        return set(below(url))
    except AbsentError:
        return set()


def _fetched_manifest(url: str, folder: Path) -> dict[str, Any]:
    try:
        fetch(f"{url}/{MANIFEST}", folder / MANIFEST)
        manifest = read_manifest(folder)
    except AbsentError as error:
        raise InputError(
            f"there is no store at {url}: it has no {MANIFEST}", hint=f"framescribe store push NAME {url}"
        ) from error
    except DamageError as error:
        raise DamageError(f"{url}/{MANIFEST} is damaged", hint=f"framescribe store push NAME {url}") from error
    strange = [name for name in manifest["shards"] if not _SHARD.fullmatch(name)]
    if strange:  # a name from outside becomes a path here
        raise DamageError(f"{url}/{MANIFEST} names a shard '{strange[0]}'; they are called {shard_name(0)} and so on")
    return manifest


def _linked(old: Path, new: Path, facts: Mapping[str, Any]) -> bool:
    """Whether the shard was here and whole; then it has a second name now."""
    if not old.is_file() or file_sha256(old) != facts["sha256"]:
        return False
    new.hardlink_to(old)
    return True


def _fetch_shard(url: str, path: Path, facts: Mapping[str, Any]) -> None:
    try:
        fetch(shard_url(url, facts), path)
    except AbsentError as error:
        hint = f"the same command again; if it stays so, framescribe store push NAME {url}"
        raise DamageError(f"{url} lacks its {path.name}", hint=hint) from error
    _require_sha256(path, facts, hint=f"framescribe store push NAME {url}")


def _require_sha256(path: Path, facts: Mapping[str, Any], *, hint: str) -> None:
    if file_sha256(path) != facts["sha256"]:
        raise DamageError(f"{path.name} is not what {MANIFEST} says: its sha256 differs", hint=hint)
