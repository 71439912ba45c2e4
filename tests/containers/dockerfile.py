"""A reader of our Dockerfiles, so that a test runs what the image runs and cannot drift from it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Instruction:
    keyword: str  # RUN, COPY, ...
    flags: tuple[str, ...]  # --chown=..., --from=...
    text: str


@dataclass(frozen=True)
class Stage:
    name: str  # the last one has none
    instructions: tuple[Instruction, ...]

    def all(self, keyword: str) -> list[Instruction]:
        return [each for each in self.instructions if each.keyword == keyword]

    def one(self, keyword: str) -> Instruction:
        (only,) = self.all(keyword)
        return only


def read_stages(path: Path) -> list[Stage]:
    stages: list[tuple[str, list[Instruction]]] = []
    for instruction in _instructions(path.read_text()):
        if instruction.keyword == "FROM":
            stages.append((instruction.text.partition(" AS ")[2], []))
        elif stages:  # an ARG before the first FROM belongs to no stage
            stages[-1][1].append(instruction)
    return [Stage(name, tuple(instructions)) for name, instructions in stages]


def _instructions(text: str) -> list[Instruction]:
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    found = []
    for line in filter(str.strip, lines.replace("\\\n", " ").splitlines()):
        keyword, _, rest = line.strip().partition(" ")
        words = rest.split()
        flags = [word for number, word in enumerate(words) if all(w.startswith("--") for w in words[: number + 1])]
        found.append(Instruction(keyword, tuple(flags), re.sub(r"\s+", " ", " ".join(words[len(flags) :]))))
    return found


def build_context(ignore_file: Path) -> list[str]:
    """The files of this checkout that a builder is sent: the last pattern that fits a file, or a parent, decides."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    paths = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    lines = [line.strip() for line in ignore_file.read_text().splitlines()]
    patterns = [line for line in lines if line and not line.startswith("#")]
    return sorted(path for path in paths if not _ignored(path, patterns) and (ROOT / path).is_file())


def _ignored(path: str, patterns: list[str]) -> bool:
    ignored = False
    places = [path, *(str(parent) for parent in PurePosixPath(path).parents if str(parent) != ".")]
    for pattern in patterns:
        wanted = pattern.removeprefix("!")
        if any(fnmatch(place, wanted) or fnmatch(f"/{place}", wanted.replace("**/", "*/")) for place in places):
            ignored = not pattern.startswith("!")
    return ignored
