"""Would the tests notice? Small random changes in the modules that decide numbers, each against the tests of its room.

    make mutants            # or: python -m experiments.mutants --count 100 --seed 0

One operator, comparison, constant or condition at a time is changed in a copy of the project, and a test must fail.
Modules and their tests are listed in mutant_modules.py, beside the changes that change nothing. Exit code 1 when fewer
than 95 of 100 were noticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from experiments.mutant_modules import EQUIVALENT, TESTS
from pipeline.core import Console, FramescribeError, InputError, MissingToolError

ROOT = Path(__file__).parent.parent
ENOUGH = 0.95
TEST_SECONDS = 120  # a test that a change keeps from ending has noticed it
PASSED = 0  # the exit code of pytest when every test did
SWAPS: dict[type[ast.AST], Any] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change; `before` and `after` are its line as `ast` writes it, without the comment."""

    module: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}\n  - {self.before}\n  + {self.after}"


def mutants_of(module: str, root: Path = ROOT) -> list[Mutant]:
    """Every change of one place in a module."""
    tree = ast.parse((root / module).read_text())
    plain, hidden = ast.unparse(tree), _unchanging(tree)
    found = []
    for node in ast.walk(tree):
        if node not in hidden and _is_changeable(node):
            source = _changed_source(tree, node)
            found.append(Mutant(module, getattr(node, "lineno", 0), *_changed_line(plain, source), source))
    return found


def _unchanging(tree: ast.Module) -> set[ast.AST]:
    """Types, and what is written in messages: `int | None` is no arithmetic, and no test should hold a wording."""
    roots: list[ast.AST] = [note for node in ast.walk(tree) for note in _annotations(node)]
    roots += [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {inner for root in roots for inner in ast.walk(root)}


def _annotations(node: ast.AST) -> list[ast.expr]:
    notes = [getattr(node, name, None) for name in ("annotation", "returns")]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        notes.append(node.args[1])
    return [note for note in notes if note is not None]


def _is_changeable(node: ast.AST) -> bool:
    match node:
        case ast.BinOp() | ast.BoolOp():
            return type(node.op) in SWAPS
        case ast.Compare():
            return type(node.ops[0]) in SWAPS
        case ast.Constant():
            return type(node.value) in (int, float)
        case ast.UnaryOp():
            return isinstance(node.op, ast.Not | ast.Invert)
    return False


def _changed_source(tree: ast.Module, node: ast.AST) -> str:
    before = vars(node).copy()
    _change(node)
    source = ast.unparse(tree)
    vars(node).update(before)
    return source


def _change(node: ast.AST) -> None:
    match node:
        case ast.BinOp() | ast.BoolOp():
            node.op = SWAPS[type(node.op)]()
        case ast.Compare():
            node.ops = [SWAPS[type(node.ops[0])](), *node.ops[1:]]
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.UnaryOp():  # twice is none
            node.operand = ast.UnaryOp(node.op, node.operand)


def _changed_line(before: str, after: str) -> tuple[str, str]:
    lines = zip(before.splitlines(), after.splitlines(), strict=True)
    return next((old.strip(), new.strip()) for old, new in lines if old != new)


def choose(count: int, *, seed: int, modules: Sequence[str], root: Path = ROOT) -> list[Mutant]:
    """The modules in turn, so that none is left out; the seed decides the places."""
    draw = random.Random(seed)
    waiting = []
    for module in modules:
        found = [each for each in mutants_of(module, root) if not is_equivalent(each)]
        waiting.append(draw.sample(found, len(found)))
    picked: list[Mutant] = []
    while len(picked) < count and any(waiting):
        picked += [mutants.pop() for mutants in waiting if mutants]
    return picked[:count]


def is_equivalent(mutant: Mutant) -> bool:
    return (mutant.module, mutant.before, mutant.after) in {known[:3] for known in EQUIVALENT}


def survivors_of(
    mutants: Sequence[Mutant], tests: Mapping[str, str], *, workers: int, console: Console, root: Path = ROOT
) -> list[Mutant]:
    """Each worker has a copy of the project to change."""
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(workers) as threads:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            free.put(copied(root, Path(work) / str(number)))
        check_unchanged({each.module for each in mutants}, tests, Path(work) / "0")

        def tried(mutant: Mutant) -> bool:
            folder = free.get()
            try:
                return is_noticed(mutant, tests[mutant.module], folder)
            finally:
                free.put(folder)

        survivors = []
        with console.progress("mutants", len(mutants)) as progress:
            for mutant, noticed in zip(mutants, threads.map(tried, mutants), strict=True):
                survivors += [] if noticed else [mutant]
                progress.advance(note=mutant.module)
        return survivors


def copied(root: Path, folder: Path) -> Path:
    """The files that git knows, with what was changed in them, and new ones."""
    git = shutil.which("git")
    if git is None:
        raise MissingToolError("git is not installed", hint="install git: it says which files are the project's")
    command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    for name in os.fsdecode(listed).rstrip("\0").split("\0"):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    return folder


def check_unchanged(modules: set[str], tests: Mapping[str, str], folder: Path) -> None:
    """Tests that fail anyway notice nothing; written anew by `ast` the modules must still pass."""
    for module in modules:
        (folder / module).write_text(ast.unparse(ast.parse((folder / module).read_text())))
    wanted = sorted({name for module in modules for name in tests[module].split()})
    code, said = _run(wanted, folder)
    if code != PASSED:
        raise InputError(f"the tests fail before anything is changed:\n{said}", hint="make test")


def is_noticed(mutant: Mutant, tests: str, folder: Path) -> bool:
    path = folder / mutant.module
    original = path.read_text()
    path.write_text(mutant.source)
    try:
        return _run(tests.split(), folder)[0] != PASSED
    finally:
        path.write_text(original)


def _run(tests: list[str], folder: Path) -> tuple[int, str]:
    options = f"-x -q -n 0 -p no:cacheprovider --timeout {TEST_SECONDS} --timeout-method thread"
    command = [sys.executable, "-m", "pytest", *options.split(), "-m", "not slow", *tests]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout[-2000:]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--modules", nargs="+", default=list(TESTS), choices=list(TESTS), metavar="MODULE")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args, console = _parser().parse_args(argv), Console()
    mutants = choose(args.count, seed=args.seed, modules=args.modules)
    try:
        survivors = survivors_of(mutants, TESTS, workers=args.workers, console=console)
    except FramescribeError as error:
        sys.stderr.write(f"mutants: {error}\n")
        return error.exit_code
    for survivor in survivors:
        console.say(f"not noticed: {survivor}")
    console.say(f"{len(mutants) - len(survivors)} of {len(mutants)} changes were noticed (seed {args.seed})")
    return int(len(mutants) - len(survivors) < ENOUGH * len(mutants))


if __name__ == "__main__":
    raise SystemExit(main())
