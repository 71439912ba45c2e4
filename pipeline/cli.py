"""The command line: a table of commands, each in its own module, imported only when it is asked for.

A command module has two functions: `configure(parser)` declares its arguments, and
`command(args, console)` does the work and returns a summary (a dictionary for `--json`).
Neither may import anything heavy at module level: `framescribe --help` must stay instant.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from pipeline.core import CommandParser, Console, FramescribeError, claim_semaphores, printable_lines, told_progress

DESCRIPTION = "Video captioning, end to end: decode, extract features, train, caption, evaluate; reproducible with DVC."
STAGES = {
    "decode": "index the videos by really decoding them",
    "extract": "run extractors over the index, each into a sharded store",
    "assemble": "captions, vocabulary and splits of the data set",
    "train": "train one run",
    "caption": "write a sentence for every test video of a run",
    "evaluate": "score a run's sentences against the references",
    "report": "the HTML page: scores, curves, examples",
}
TOOLS = {
    "doctor": "what this machine has, what is missing, what that blocks and how to fix it",
    "demo-data": "make the demo set of short clips with captions",
    "dataset": "point params.yaml at another data set and validate it",
    "paper": "set params.yaml to a paper's rows; what they need and what to run next",
    "compare": "two runs on the same videos: differences, intervals and p values",
    "mask": "how a run's scores fall as ever more of its smaller attention weights are ignored",
    "fuse": "late fusion: of several runs' sentences the one that fits each video best",
    "submission": "a challenge's file: a sentence for every video of a split or a list, of several runs",
    "serve": "a page on this machine that captions clips, browses, compares and watches",
    "frames": "look inside a video: a contact sheet or exact pixels",
    "runs": "carry a trained run away in one file, with its model card",
    "store": "look into feature stores, verify, repair, compare, export, import, estimate",
    "cache": "how large the feature cache is, and gc to make it smaller",
    "extractors": "what can be extracted: list, the card of one, or add one to params.yaml",
    "weights": "list, fetch and verify pretrained weights",
    "completion": "a script for bash, zsh or fish that completes commands and options",
}
MACHINES = {"cluster": "check that a profile's workers are fit for the work; make certificates"}
COMMANDS = STAGES | TOOLS | MACHINES
USE_WORKERS = ("decode", "extract", "train", "caption", "evaluate", "cluster")
USE_PROFILE = ("doctor", "mask", "fuse", "store", "serve")  # its device, or that it is valid; no workers
OWN_WORKERS = ("decode", "demo-data")  # they have no process to start for each, and an option of that name


def command_module(name: str) -> ModuleType:
    module = name.replace("-", "_")
    if name in MACHINES:
        return importlib.import_module(f"workflows.{module}.command")
    return importlib.import_module(f"pipeline.{'stages' if name in STAGES else 'commands'}.{module}")


def _overview() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<10} {text}" for name, text in COMMANDS.items())
    parser = CommandParser(
        prog="framescribe",
        usage="framescribe [--version] COMMAND [options]",
        description=DESCRIPTION,
        epilog=f"stages (in the order of dvc.yaml), then tools:\n{listing}\n\n"
        "`framescribe COMMAND --help` explains a command; `dvc repro` runs the stages.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", nargs="?", help="one of the commands below")
    return parser


def _command_parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    parser = CommandParser(prog=f"framescribe {name}", description=module.__doc__)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--json", action="store_true", help="print one JSON summary on stdout and nothing else there")
    _add_machine_options(parser, name)
    module.configure(parser)
    return parser


def _all_parsers() -> dict[str, argparse.ArgumentParser]:
    return {name: _command_parser(name, command_module(name)) for name in COMMANDS}


def _add_machine_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Every command takes them, so that one line of options does for all; its help has those that it uses."""

    def text(help_text: str, users: Sequence[str] = USE_WORKERS) -> str:
        return help_text if name in users else argparse.SUPPRESS

    machine = parser.add_argument_group("machine")
    profile = text("a name in workflows/profiles/ or a .yaml file (default: laptop)", USE_WORKERS + USE_PROFILE)
    machine.add_argument("--profile", help=profile)
    if name not in OWN_WORKERS:
        workers = text("worker processes (default: the profile's)")
        machine.add_argument("--workers", dest="processes", type=int, metavar="N", help=workers)
    machine.add_argument("--insecure", action="store_true", help=text("let traffic leave this machine unencrypted"))
    page = text("an HTML page of how a cluster spent its time")
    machine.add_argument("--performance-report", metavar="FILE", help=page)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    overview = _overview()
    chosen = overview.parse_args(arguments[:1])
    if chosen.version:
        return _say_version()
    if chosen.command is None:
        overview.print_help()
        return 2
    return _run(chosen.command, arguments[1:])


def _run(name: str, arguments: list[str]) -> int:
    try:
        module = command_module(name)
        args = _command_parser(name, module).parse_args(arguments)
        args.commands, args.parsers = COMMANDS, _all_parsers
        claim_semaphores()
        with told_progress(name) as kept:
            console = Console(quiet=args.quiet, as_json=args.json, kept=kept)
            args.machine = lambda: _machine(args, console)
            console.finish(module.command(args, console))
    except FramescribeError as error:
        sys.stderr.write(printable_lines(f"framescribe {name}: {error}") + "\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write(f"framescribe {name}: stopped; what was finished is kept, the same command goes on\n")
        return 130
    except BrokenPipeError:  # `framescribe ... | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _machine(args: argparse.Namespace, console: Console) -> Any:
    """The one place where the command line, which is in pipeline/, reaches up to workflows/."""
    from workflows.machines import load_machine

    workers = getattr(args, "processes", None)
    return load_machine(
        args.profile, workers=workers, insecure=args.insecure, report=args.performance_report, console=console
    )


def _say_version() -> int:
    from importlib.metadata import version

    sys.stdout.write(f"framescribe {version('framescribe')}\n")
    return 0
