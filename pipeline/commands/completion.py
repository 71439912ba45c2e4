"""Print a script that completes commands, options and their values at the Tab key.

bash: `source <(framescribe completion bash)` in ~/.bashrc; zsh: the same in ~/.zshrc;
fish: `framescribe completion fish > ~/.config/fish/completions/framescribe.fish`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pipeline.core import Console, completion_script

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    script = completion_script(args.shell, args.parsers(), args.commands)
    if not console.as_json:
        sys.stdout.write(script)
    return {"shell": args.shell, "script": script}
