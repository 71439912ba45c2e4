"""A list of videos at URLs: a small file that git keeps and DVC follows, in the place of a folder of videos."""

from __future__ import annotations

from pathlib import Path

from pipeline.core import InputError, write_text
from pipeline.remote.transfer import below, is_url, require_url

SUFFIX = ".urls"
HEAD = "# url, bytes, the object store's mark of the content; written by `framescribe dataset use`\n"


def write_listing(url: str, path: Path) -> int:
    """All objects below `url`; equal objects give equal bytes. How many there are."""
    found = below(require_url(url))
    write_text(path, HEAD + "".join(f"{each}\t{facts.size}\t{facts.version}\n" for each, facts in found.items()))
    return len(found)


def read_listing(path: Path) -> list[str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    urls = [line.split("\t")[0] for line in lines]
    wrong = [url for url in urls if not is_url(url)]
    if wrong:
        raise InputError(f"{path}: '{wrong[0][:80]}' is not a URL", hint="framescribe dataset use writes such a file")
    return [require_url(url) for url in urls]


def is_listing(path: Path) -> bool:
    return path.suffix == SUFFIX and path.is_file()
