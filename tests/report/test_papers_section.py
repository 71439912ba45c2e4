"""The papers' tables on the page: a section of its own, well-formed, and absent where there is nothing to show."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.console import Console
from pipeline.papers.differing import Here, Made
from pipeline.papers.recipes import read_recipe
from pipeline.papers.tables import PaperTable, paper_tables
from pipeline.params.dataset import Dataset
from pipeline.params.report import Report
from pipeline.report import report
from pipeline.report.results import Sources
from tests.report.test_page import Outline

QUIET = Console(quiet=True)


def tables() -> list[PaperTable]:
    recipes = [read_recipe("g2l-msrvtt"), read_recipe("vre-msrvtt")]
    name = "<b>mine</b>"
    run = Made(
        name=name,
        scores={"CIDEr-D": 0.48},
        evaluation={"split": "test", "references_sha256": "sha", "videos": 2},
        records={name: {"params": recipes[0].train["g2l"].model_dump()}},
    )
    dataset = Dataset(name="msrvtt", videos="v", annotations="a")
    return paper_tables(recipes, [run], here=Here(dataset=dataset, references={"test": "sha"}), planned={})


def build(project: Sources, out: Path, papers: list[PaperTable]) -> str:
    report.make_report(
        dataset="demo",
        runs=["attention", "mean_pool"],
        sources=project,
        out=out,
        params=Report(examples=0),
        papers=papers,
        console=QUIET,
    )
    return out.read_text()


def test_rows_runs_and_commands_are_in_the_section(project: Sources, tmp_path: Path) -> None:
    text = build(project, tmp_path / "page.html", tables())

    outline = Outline(text)
    assert outline.complaints == []
    section = text[text.index('<section id="papers"') :]
    section = section[: section.index("</section>")]
    assert section.count("<table") == 4  # two tables of each recipe
    shown, folded = section.split('<details class="card"')
    assert shown.count("<table") == folded.count("<table") == 2  # those with a run are not folded away
    assert "50.3<small>here 48.0</small>" in shown
    assert "&lt;b&gt;mine&lt;/b&gt;" in section
    assert "test videos 2, not 2990" in section
    assert "<code>framescribe paper vre-msrvtt</code>" in folded
    assert 'href="#papers"' in text


def test_where_no_paper_has_the_data_set_the_page_says_how_to_get_a_table(project: Sources, tmp_path: Path) -> None:
    text = build(project, tmp_path / "page.html", [])

    section = text[text.index('<section id="papers"') :]
    section = section[: section.index("</section>")]
    assert Outline(text).complaints == []
    assert "<table" not in section
    assert "<code>framescribe paper NAME</code>" in section
