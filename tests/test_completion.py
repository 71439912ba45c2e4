"""The Tab key, in the shells themselves: everything that the parsers know, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.cli import COMMANDS, main
from pipeline.commands.store import FORMATS

ASK = {
    "bash": 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _framescribe; echo "${COMPREPLY[@]}"',
    "fish": 'source $argv[1]; complete -C "$argv[2..]" | string replace -r "\\t.*" ""; true',  # no match is no error
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        with pytest.MonkeyPatch.context() as patch, (folder / shell).open("w") as file:
            patch.setattr("sys.stdout", file)
            assert main(["completion", shell]) == 0
    return folder


def offered(scripts: Path, shell: str, *words: str) -> set[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command = [shell, "-c", ASK[shell], *(["bash"] if shell == "bash" else []), str(scripts / shell), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return set(done.stdout.split())


both = pytest.mark.parametrize("shell", ASK)


@both
def test_commands(scripts: Path, shell: str) -> None:
    assert offered(scripts, shell, "framescribe", "") >= set(COMMANDS)
    assert offered(scripts, shell, "framescribe", "ex") == {"extract", "extractors"}


@both
def test_actions_and_their_options(scripts: Path, shell: str) -> None:
    assert offered(scripts, shell, "framescribe", "store", "ex") == {"export"}
    assert "--standardize" in offered(scripts, shell, "framescribe", "store", "import", "--st")
    assert "--standardize" not in offered(scripts, shell, "framescribe", "store", "export", "--st")
    assert offered(scripts, shell, "framescribe", "completion", "f") == {"fish"}


@both
def test_values_of_options(scripts: Path, shell: str) -> None:
    assert offered(scripts, shell, "framescribe", "store", "export", "a", "b", "--format", "") == set(FORMATS)
    assert offered(scripts, shell, "framescribe", "train", "run", "--live", "t") == {"tensorboard"}


def test_values_that_are_files_are_left_to_bash(scripts: Path) -> None:
    assert offered(scripts, "bash", "framescribe", "train", "run", "--captions", "") == set()
    assert "complete -o default -F _framescribe framescribe" in (scripts / "bash").read_text()


def test_zsh_reads_the_script_of_bash(scripts: Path) -> None:
    bash, zsh = ((scripts / shell).read_text() for shell in ("bash", "zsh"))
    assert zsh.endswith(bash)
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    line = 'source "$1"; words=(framescribe store ex); print $+functions[_framescribe] $_comps[framescribe]'
    command = ["zsh", "-f", "-c", line, "zsh", str(scripts / "zsh")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split()[0] == "1"
    assert "_framescribe" in done.stdout
