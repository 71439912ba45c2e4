"""The page of how a cluster spent its time."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipeline.cli import main
from tests.store.making import TOY, index_of

PARAMS = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "extract": {"toy": TOY}, "train": {}}


class Reader(HTMLParser):
    """The names of all elements, and the text of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, *_: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.slow
def test_a_performance_report(clips: Path, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    index_of(clips, tmp_path / "data/index")
    Path("params.yaml").write_text(json.dumps(PARAMS))
    Path("node.yaml").write_text("kind: node\nworkers: 1\ndevice: cpu\ndashboard: null\n")
    page = Reader()

    command = ["extract", "toy", "--profile", "node.yaml", "--quiet", "--performance-report", "reports/page.html"]
    assert main(command) == 0

    page.feed(Path("reports/page.html").read_text())
    assert {"html", "title", "script"} <= page.tags
    assert "Dask Performance Report" in page.text
    assert "number of tasks" in page.text
    assert "perform" in page.text  # the name of the tasks, in the data of its charts
