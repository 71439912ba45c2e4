"""The mutation check on a planted module: what its tests hold is noticed, what they do not hold survives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from experiments import mutants
from experiments.mutant_modules import EQUIVALENT, TESTS
from pipeline.core import Console, InputError

MODULE = '''"""A toy."""
LIMIT: int | None = 3  # no comment survives


def grown(number: int) -> int:
    """One more, up to the limit."""
    if number > LIMIT:
        raise ValueError(f"{number} is more than {1 + 2}")
    return number + 1
'''
HELD = "from toy import grown\n\ndef test_grown():\n    assert grown(1) == 2\n"
TOY = {"toy.py": "test_toy.py"}
QUIET = Console(quiet=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "toy.py").write_text(MODULE)
    (tmp_path / "test_toy.py").write_text(HELD)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def test_every_place_is_changed_once_and_types_and_messages_are_left(project: Path) -> None:
    found = mutants.mutants_of("toy.py", project)

    assert sorted((each.line, each.before, each.after) for each in found) == [
        (2, "LIMIT: int | None = 3", "LIMIT: int | None = 4"),
        (7, "if number > LIMIT:", "if number >= LIMIT:"),
        (9, "return number + 1", "return number + 2"),
        (9, "return number + 1", "return number - 1"),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a and b", "a or b"),
        ("not a", "not not a"),
        ("~a", "~~a"),
        ("a in b", "a not in b"),
        ("a is None", "a is not None"),
        ("a // b", "a * b"),
        ("a | b", "a & b"),
        ("0.5", "1.5"),
        ("True", None),
        ("isinstance(a, int | str)", None),
    ],
)
def test_what_becomes_of_an_expression(tmp_path: Path, before: str, after: str | None) -> None:
    (tmp_path / "one.py").write_text(before)

    assert [each.after for each in mutants.mutants_of("one.py", tmp_path)] == ([after] if after else [])


def test_the_survivors_are_those_that_no_test_holds(project: Path) -> None:
    chosen = mutants.choose(99, seed=0, modules=["toy.py"], root=project)

    survivors = mutants.survivors_of(chosen, TOY, workers=2, console=QUIET, root=project)

    assert sorted(each.after for each in survivors) == ["LIMIT: int | None = 4", "if number >= LIMIT:"]
    assert (project / "toy.py").read_text() == MODULE


def test_tests_that_fail_anyway_prove_nothing(project: Path) -> None:
    (project / "test_toy.py").write_text(HELD.replace("== 2", "== 7"))
    chosen = mutants.choose(1, seed=0, modules=["toy.py"], root=project)

    with pytest.raises(InputError, match="the tests fail before anything is changed"):
        mutants.survivors_of(chosen, TOY, workers=1, console=QUIET, root=project)


def test_a_seed_chooses_the_same_changes_and_no_module_is_left_out() -> None:
    modules = ["pipeline/core/hashing.py", "pipeline/corpus/vocabulary.py", "pipeline/store/provenance.py"]
    first, again, other = (mutants.choose(9, seed=seed, modules=modules) for seed in (0, 0, 1))

    assert first == again
    assert first != other
    assert [each.module for each in first] == modules * 3
    assert len(set(first)) == len(first)


def test_the_list_names_what_is_there() -> None:
    """A line that was rewritten is no longer excused: its entry has to be judged again, or go."""
    excused = {entry[0] for entry in EQUIVALENT}
    known = {(each.module, each.before, each.after) for module in excused for each in mutants.mutants_of(module)}

    assert [entry[:3] for entry in EQUIVALENT if entry[:3] not in known] == []
    assert [path for tests in TESTS.values() for path in tests.split() if not (mutants.ROOT / path).exists()] == []
