"""A type checker, asked about a user's script in a folder elsewhere: it knows the API, and sees a mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
from typing import Any, assert_type

import framescribe
import numpy as np

store = framescribe.open_store("features/x")
assert_type(store, framescribe.Store)
assert_type(store["video0"], framescribe.VideoFeatures)
assert_type(store["video0"]["pool"].dtype, np.dtype[Any])
said = framescribe.open_run("runs/x").caption("clip.mp4")
assert_type(said.caption, str)
assert_type(framescribe.score({"a": "x"}, {"a": ["x"]}).scores, dict[str, float])
try:
    framescribe.extract("x", np.zeros((1, 8, 8, 3), np.uint8), rate=25.0)
except framescribe.FramescribeError as error:
    assert_type(error.message, str)
"""


@pytest.mark.slow
def test_a_type_checker_follows_the_api(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(
        "import framescribe\nstore: int = framescribe.open_store('x')\nframescribe.nosuch\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "right.py", "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    lines = done.stdout.splitlines()

    assert [line.partition(": ")[0] for line in lines[:-1]] == ["wrong.py:2", "wrong.py:3"], done.stdout
    assert 'expression has type "Store"' in lines[0]
