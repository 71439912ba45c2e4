"""`import framescribe` by itself: it costs nothing, changes nothing, and names what the page names."""

from __future__ import annotations

import json
import subprocess
import sys

import framescribe
from pipeline.core.errors import FramescribeError
from tests.imports import ROOT, api
from tests.test_layout import HEAVY

LOOK = """
import json, os, signal, sys
def state():
    return dict(os.environ), os.getcwd(), {each: signal.getsignal(each) for each in signal.valid_signals()}
before, known = state(), set(sys.modules)
import framescribe
names = dir(framescribe)
found = {"same": before == state(), "new": sorted(set(sys.modules) - known), "names": names}
sys.stderr.write(json.dumps(found))
"""


def test_to_import_it_changes_nothing_and_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stderr)

    assert done.stdout == ""
    assert found["same"]
    assert found["names"] == framescribe.__all__
    assert not {*HEAVY, "pipeline", "workflows"} & {name.partition(".")[0] for name in found["new"]}


def test_all_names_of_the_stub_are_there_and_no_others() -> None:
    assert set(framescribe.__all__) == set(api("framescribe"))
    for name in framescribe.__all__:
        assert getattr(framescribe, name).__doc__, name


def test_it_is_typed() -> None:
    assert (ROOT / "framescribe/py.typed").is_file()
    assert framescribe.FramescribeError is FramescribeError
