"""A copy of the tracked files as a repository of its own, for tests that let DVC loose on one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parent.parent
# A machine may know no author, or sign what is committed
AUTHOR = {
    f"GIT_{role}_{name}": value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (("NAME", "test"), ("EMAIL", "test@example.org"))
}
GIT = {**AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def copy_project(folder: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in tracked.decode().rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)


class Repository:
    """A folder with the project's files in which commands run as a user runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *command: str) -> str:
        process = self.start(*command)
        stdout, stderr = process.communicate()
        assert process.returncode == 0, f"{command}\n{stdout}\n{stderr}"
        return stdout

    def start(self, *command: str) -> subprocess.Popen[str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | GIT | {"PATH": path, "PYTHONPATH": str(self.folder)}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=pipe, stderr=pipe, text=True)

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", "state")

    def write_params(self, params: dict[str, Any]) -> None:
        with (self.folder / "params.yaml").open("w") as stream:
            YAML().dump(params, stream)

    def repro(self) -> tuple[set[str], set[str]]:
        """The stages that ran, and those that came out of DVC's run cache."""
        output = self.run("dvc", "repro")
        return set(re.findall(r"Running stage '(.+?)'", output)), set(re.findall(r"Stage '(.+?)' is cached", output))
