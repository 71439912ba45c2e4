"""What is told while a cluster works, the logs of each worker, and the page of how the time was spent."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.core.console import Console
from pipeline.core.errors import WorkerDiedError
from tests.cluster.conftest import Workers
from tests.cluster.tasks import Troublesome, dies
from tests.store.making import TOY, index_of
from workflows.cluster import executor
from workflows.cluster.executor import DaskExecutor

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


def test_a_lost_worker_is_told_even_when_no_result_comes(
    workers: Workers, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """And the logs, one file a worker, are named when the run ends with an error too."""
    quiet = workers(1, attempts=1)
    with pytest.raises(WorkerDiedError, match="'dies': it took its worker down"):
        list(DaskExecutor(quiet.profile, Console()).map(dies, ["dies"]))
    told = capsys.readouterr().out
    assert "no dashboard" in told
    assert "cluster: a worker was lost with dies" in told
    assert "cluster: logs in logs/" in told
    assert [path.stem for path in sorted(tmp_path.glob("logs/*/*"))] == ["client"]


def test_each_worker_has_one_file_of_lines(workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it did, then what dask said of it, oldest first."""
    monkeypatch.setattr(executor, "LOGS_SECONDS", 60.0)  # a busy machine hands them in late
    list(workers(2, videos_per_task=1).map(Troublesome(), ["a", "b", "c", "d"]))
    files = sorted(tmp_path.glob("logs/*/*.jsonl"))
    assert [path.name for path in files] == ["0.jsonl", "1.jsonl"]
    for path in files:
        lines = [json.loads(line) for line in path.open()]
        assert {line["worker"] for line in lines} == {path.stem}
        said = [line["text"][:23] for line in lines if line["event"] == "log"]
        assert said == sorted(said)
        assert said


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
