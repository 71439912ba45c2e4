"""Whole objects to and from a URL by fsspec; an error shows neither a traceback nor a secret."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core import FramescribeError, InputError, MissingToolError, UsageError, named_when_full, publishing

PROTOCOLS = ("s3", "gs", "abfs", "file", "memory")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_SECRETS = re.compile(r"(AWS|AZURE|GOOGLE|GCS|FSSPEC)_.*(KEY|SECRET|TOKEN|PASSWORD|CREDENTIALS|SAS).*", re.IGNORECASE)
_CREDENTIALS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws; docs/object-stores.md"


class AbsentError(InputError):
    """There is nothing at the URL."""


class ForbiddenError(InputError):
    """There may be something at the URL, but not for us."""


@dataclass(frozen=True)
class Facts:
    size: int
    version: str  # the object store's own mark of the content; empty when it has none


def is_url(text: str) -> bool:
    return _URL.fullmatch(text) is not None


def require_url(text: str) -> str:
    """The URL without a slash at its end; one that carries a password is refused, for it would be printed and kept."""
    found = _URL.fullmatch(text)
    if found is None or found[1] not in PROTOCOLS:
        shown = f"{found[1]}://" if found else f"'{text}'"
        raise UsageError(f"{shown} is no place that is known; write {', '.join(f'{each}://...' for each in PROTOCOLS)}")
    if "@" in found[2].split("/", 1)[0] or "?" in found[2]:
        raise UsageError(
            f"a {found[1]}:// address must not carry credentials; they belong in the environment", hint=_CREDENTIALS
        )
    return text.rstrip("/")


def facts_of(url: str, *, refresh: bool = False) -> Facts:
    """From an earlier listing of this process, or with `refresh` from the object store."""
    with _translated(url) as (files, path):
        return _facts(files.info(path, refresh=refresh))


def fetch(url: str, local: Path) -> None:
    """Publish the object as a file of this machine."""
    with publishing(local) as temporary, _translated(url) as (files, path), named_when_full(local):
        files.get_file(path, str(temporary))


def send(local: Path, url: str) -> None:
    """Upload a file. An object store shows an object whole or not at all; a folder is given the same by a rename."""
    if url.startswith("file://"):
        with publishing(Path(url.removeprefix("file://"))) as temporary:
            shutil.copyfile(local, temporary)
        return
    with _translated(url) as (files, path):
        files.put_file(str(local), path)


def remove(url: str) -> None:
    with _translated(url) as (files, path):
        files.rm_file(path)


def below(url: str) -> dict[str, Facts]:
    """URLs of all objects below one, freshly listed and sorted; the object itself when it is one."""
    with _translated(url) as (files, path):
        files.invalidate_cache()
        protocol = url.partition("://")[0]
        found = files.find(path, detail=True)
        if not found:
            raise FileNotFoundError(path)
        names = {name: name if protocol == "file" else name.removeprefix("/") for name in sorted(found)}
        return {f"{protocol}://{shown}": _facts(found[name]) for name, shown in names.items()}


def _facts(info: dict[str, Any]) -> Facts:
    mark = info.get("ETag") or info.get("etag") or info.get("md5Hash") or ""
    return Facts(int(info.get("size") or 0), str(mark).strip('"'))


@contextmanager
def _translated(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL and the path in it; what it raises becomes an error that says what to do."""
    try:
        yield _file_system(require_url(url))
    except FramescribeError:
        raise
    except FileNotFoundError as error:
        raise AbsentError(f"there is nothing at {url}", hint="look at the bucket's name and the path in it") from error
    except PermissionError as error:
        raise ForbiddenError(f"{url} is refused: {_safe(error)}", hint=_CREDENTIALS) from error
    except _failures() as error:
        hint = _CREDENTIALS if "redential" in type(error).__name__ else "see that the object store can be reached"
        raise InputError(f"{url} cannot be used: {type(error).__name__}: {_safe(error)}", hint=hint) from error


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec  # type: ignore[import-untyped]

        return fsspec.core.url_to_fs(url)
    except ImportError as error:
        protocol = url.partition("://")[0]
        package = {"s3": "'framescribe[objects]'", "gs": "gcsfs", "abfs": "adlfs"}.get(protocol, "fsspec")
        raise MissingToolError(f"{protocol}:// needs a package: {error}", hint=f"pip install {package}") from error


def _failures() -> tuple[type[Exception], ...]:
    """What the libraries that are loaded raise; nothing is imported to find out."""
    known = {
        "botocore.exceptions": "BotoCoreError",
        "aiohttp": "ClientError",
        "google.auth.exceptions": "GoogleAuthError",
    }
    loaded = [getattr(sys.modules[module], name) for module, name in known.items() if module in sys.modules]
    return (OSError, *loaded)


def _safe(error: BaseException) -> str:
    """Its first line, without anything that the environment holds as a secret."""
    text = (str(error).splitlines() or [""])[0]
    for name, value in os.environ.items():
        if value and _SECRETS.fullmatch(name):
            text = text.replace(value, "***")
    return re.sub(r"\?\S+", "?***", text)
