"""Which code made the page: the commit that is checked out, and whether files differ from it."""

from __future__ import annotations

import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path


def code_version(folder: Path) -> dict[str, str]:
    """Without git, or outside a repository, the version alone."""
    found = {"framescribe": version("framescribe")}
    commit = _git(folder, "rev-parse", "HEAD")
    if commit:
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
        found["git commit"] = f"{commit} with {len(changed.splitlines())} changed files" if changed else commit
    return found


def _git(folder: Path, *command: str) -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    try:
        done = subprocess.run([git, *command], cwd=folder, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
