"""The code blocks of the pages: as text, and their shell commands as a script that tells which of them failed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = ("framescribe", "dvc", "git", "python", "make", "docker", "sbatch", "dask", "pip", "kubectl", "cp", "rm")
VARIABLE = r"[A-Z_]+=(\$\([^)]*\)|\S)+ "
SHELL = re.compile(rf"({VARIABLE})*({'|'.join(PROGRAMS)}|for|source|export|unset) (?!\S+:( |$))")
REFUSAL = re.compile(r"ERROR: |framescribe [a-z]+: ")


class Command(NamedTuple):
    text: str
    refused: bool = False  # the page shows the error that follows


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(page.read_text()) if language in languages]


def shell_commands(page: Path) -> list[Command]:
    """Of all blocks of a page; those of a transcript follow a prompt."""
    return [command for block in blocks(page, "bash", "") for command in _commands(block)]


def _commands(block: str) -> Iterator[Command]:
    lines = _joined(block)
    prompted = any(line.startswith("$ ") for line in lines)
    for number, line in enumerate(lines):
        if prompted and line.startswith("$ "):
            following = lines[number + 1] if number + 1 < len(lines) else ""
            yield Command(_without_comment(line[2:]), refused=bool(REFUSAL.match(following)))
        elif not prompted and SHELL.match(line):
            yield Command(_without_comment(line))


def _joined(block: str) -> list[str]:
    """A line that ends in a backslash or a pipe goes on in the next one."""
    return re.sub(r"\|\n\s*", "| ", block.replace("\\\n", " ")).splitlines()


def _without_comment(line: str) -> str:
    return re.split(r"\s+#\s", line)[0].strip()


def script(commands: list[Command]) -> str:
    """One shell for all, so that `cd` and variables stay; it stops at the first that does not do what the page says."""
    lines = ["set -eu -o pipefail"]
    for command in commands:
        lines.append(f"echo {shlex.quote('>>> ' + command.text)} | tee /dev/stderr")
        lines.append(f"if {command.text}; then exit 99; fi" if command.refused else command.text)
    return "\n".join(lines)
