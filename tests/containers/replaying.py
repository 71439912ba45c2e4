"""Running a Dockerfile's instructions without an engine: in a folder that stands for `/`, or in a real root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.containers.dockerfile import ROOT, Instruction, Stage, build_context

FROM_THE_IMAGE = ("/opt/venv", "/build", "/framescribe", "/var/cache/framescribe")
# How this machine reaches its package registries is no part of the image: a builder has it in its environment too.
FROM_THIS_MACHINE = re.compile(r"(PIP|UV|SSL|REQUESTS)_.*|(HTTPS?|NO|ALL)_PROXY|HOME|LANG", re.IGNORECASE)


@dataclass
class Replay:
    """`place` stands for `/`. Without `chroot`, absolute paths of the image are rewritten to lie below it."""

    place: Path
    chroot: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = ""  # number:number, or root

    def __post_init__(self) -> None:
        passed = {name: value for name, value in os.environ.items() if FROM_THIS_MACHINE.fullmatch(name)}
        path = f"{'' if self.chroot else self.place}/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        private = {} if self.chroot else {"XDG_CONFIG_DIRS": str(self.place / "etc/xdg")}
        self.environment = passed | private | {"PATH": path} | self.environment

    def play(self, stage: Stage, *, skip: str = "never") -> None:
        """Every instruction that changes the file system, in order; RUNs that match `skip` are left out."""
        for instruction in stage.instructions:
            if instruction.keyword == "WORKDIR":
                self.folder = instruction.text
                self.host(self.folder).mkdir(parents=True, exist_ok=True)
            elif instruction.keyword == "ENV":
                self._set(instruction.text)
            elif instruction.keyword == "USER":
                self._become(instruction.text)
            elif instruction.keyword == "COPY":
                self._copy(instruction)
            elif instruction.keyword == "RUN" and not re.search(skip, instruction.text):
                self.run(instruction.text)

    def run(self, command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        shell = ["/bin/sh", "-c", command if self.chroot else self._rewritten(command)]
        own = ["unshare", "--fork", "--pid", "--mount", f"--mount-proc={self.place}/proc", "chroot", str(self.place)]
        owner, _, group = self.user.partition(":")
        drop = ["setpriv", f"--reuid={owner}", f"--regid={group}", "--clear-groups"] if owner else []
        wrapped = [*own, *drop, "/bin/sh", "-c", f'cd {self.folder} && exec "$@"', "sh", *shell]
        done = subprocess.run(
            wrapped if self.chroot else shell,
            cwd=None if self.chroot else self.host(self.folder),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def host(self, path: str) -> Path:
        return self.place / path.lstrip("/")

    def _set(self, text: str) -> None:
        for name, value in (pair.split("=", 1) for pair in text.split()):
            value = value.replace("$PATH", self.environment["PATH"])
            self.environment[name] = value if self.chroot else self._rewritten(value)

    def _become(self, user: str) -> None:
        """As an engine does: the home folder comes from the image."""
        self.user = user
        if self.chroot:
            people = [line.split(":") for line in self.host("/etc/passwd").read_text().splitlines()]
            self.environment["HOME"] = next(
                home for *_, number, _, _, home, _ in people if user.startswith(f"{number}:")
            )

    def _copy(self, instruction: Instruction) -> None:
        *sources, target = instruction.text.split()
        if any(flag.startswith("--from=") for flag in instruction.flags):
            return  # stages share one place here: it lies there already
        owner = next((flag.removeprefix("--chown=") for flag in instruction.flags if "--chown=" in flag), "")
        for path in build_context(ROOT / ".dockerignore"):
            if any(source in (".", path) for source in sources):
                copy = self.host(self.folder) / target / path
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, copy)
        if owner and self.chroot:
            subprocess.run(["chown", "--recursive", owner, self.host(self.folder) / target], check=True)

    def _rewritten(self, text: str) -> str:
        paths = "|".join(re.escape(path) for path in FROM_THE_IMAGE)
        return re.sub(rf"(?<![\w/.])({paths})(?![\w-])", lambda match: str(self.host(match[0])), text)


def base_python(place: Path) -> Replay:
    """What the base image has: Python with pip in /usr/local."""
    subprocess.run([sys.executable, "-m", "venv", str(place / "usr/local")], check=True)
    return Replay(place)


def base_debian(place: Path) -> Replay:
    """The base image's release of Debian, this machine's way to the network, and Python where that image has it."""
    packages = "python3.11-venv,python3-distutils,ca-certificates"
    bootstrap = ["debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(place)]
    subprocess.run(bootstrap, check=True, capture_output=True)
    place.chmod(0o755)  # a test's folder is its owner's alone, but `/` is everybody's
    for path in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copyfile(f"/{path}", place / path)
    replay = Replay(place, chroot=True)
    replay.run("python3.11 -m venv /usr/local")
    return replay
