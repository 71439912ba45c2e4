"""The files beside the page: one CSV and one LaTeX table for each table that the page shows, with its numbers."""

from __future__ import annotations

import csv
import html.parser
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given, strategies as st

from pipeline.report.results import Sources
from pipeline.report.shown_tables import ShownTable
from pipeline.report.table_files import COMMANDS, file_names, latex, latex_table, write_table_files

from .test_page import build
from .test_papers_section import build as build_with_papers, tables as paper_tables

SIGN = {command: sign for sign, command in COMMANDS.items()} | {f"\\{sign}": sign for sign in "&%$#_{}"}
TOKEN = re.compile(
    "|".join(re.escape(command) for command in sorted(SIGN, key=len, reverse=True)) + r"|-\{\}|.", re.DOTALL
)


class Tables(html.parser.HTMLParser):
    """Text of each table that has a row, and the addresses that follow it before the next."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[list[str], list[str]]] = []
        self.inside = self.filled = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.filled = self.filled or tag == "td"
        if tag == "table":
            self.inside, self.filled = True, False
            self.found.append(([], []))
        address = dict(attrs).get("href") or "#"
        if self.found and not address.startswith("#"):
            self.found[-1][1].append(address)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and tag == "tbody" and not self.filled:
            self.found.pop()  # a run that says nothing but its most frequent words
        self.inside = self.inside and tag not in ("table", "tbody")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1][0].append(data)


def plain(texts: list[str]) -> str:
    return " ".join(" ".join(texts).split())


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def read(text: str) -> str:
    """What LaTeX would print."""
    tokens = TOKEN.findall(text)
    assert not set('\\&%$#_{}~^`|<>"') & set(tokens)
    return "".join({"-{}": "-", **SIGN}.get(each, each) for each in tokens)


@pytest.fixture(params=["scores", "papers"])
def page(request: pytest.FixtureRequest, project: Sources, tmp_path: Path) -> Path:
    out = tmp_path / "report/index.html"
    if request.param == "scores":
        build(project, out)
    else:
        build_with_papers(project, out, paper_tables())
    return out


def test_every_table_has_its_files_and_they_say_what_it_shows(page: Path) -> None:
    found = Tables(page.read_text()).found
    linked = [unquote(address) for _, addresses in found for address in addresses]

    assert len(found) > 8
    assert [plain(texts) for texts, addresses in found if not addresses] == []
    assert sorted(linked) == sorted(f"index-tables/{path.name}" for path in (page.parent / "index-tables").iterdir())
    for texts, addresses in found:
        shown = plain(texts)
        for address in addresses:
            path = page.parent / unquote(address)
            if path.suffix == ".csv":
                cells = {cell for row in rows(path) for cell in row} - {"remarks"}  # a column that only files have
                assert {cell for cell in cells if not all_shown(cell, shown)} == set()
            else:
                body = path.read_text().split("\\toprule\n")[1].split("\n\\bottomrule")[0]
                lines = [line.removesuffix(r" \\") for line in body.splitlines() if line != r"\midrule"]
                read_back = [[read(cell) for cell in re.split(r"(?<!\\) ?& ?", line)] for line in lines]
                same = rows(path.with_suffix(".csv"))
                assert read_back == [[plain([cell]) for cell in row] for row in same]


def all_shown(cell: str, shown: str) -> bool:
    """The page joins and cuts the remarks of a row in its own way, and calls some columns by longer names."""
    return all(plain([part]) in shown for part in re.split(r"; |, mean", cell))


def test_scores_are_those_of_the_page(project: Sources, tmp_path: Path) -> None:
    build(project, tmp_path / "page.html")

    first, *others = rows(tmp_path / "page-tables/scores.csv")
    assert first[:2] == ["run", "CIDEr-D"]
    assert [row[:2] for row in others] == [["attention", "1.728"], ["mean_pool", "1.320"], ["baseline", "0.480"]]
    assert rows(tmp_path / "page-tables/intervals.csv")[1][1] == "1.555 – 1.901"
    assert rows(tmp_path / "page-tables/differences.csv")[1][1] == "+1.248"
    text = (tmp_path / "page-tables/scores.tex").read_text()
    assert r"\begin{tabular}{lrrrrrrr}" in text
    assert r"mean\_pool & 1.320 &" in text


def test_a_table_that_is_gone_leaves_no_file(project: Sources, tmp_path: Path) -> None:
    build(project, tmp_path / "page.html")
    build(project, tmp_path / "page.html", runs=("attention",))

    assert not (tmp_path / "page-tables/provenance-mean_pool.csv").exists()


@given(st.text())
def test_any_text_is_printed_as_it_is(text: str) -> None:
    written = latex(text)

    assert read(written) == " ".join(text.split())
    assert not written.startswith(("[", "*"))
    assert "--" not in written


def test_cells_of_others_cannot_become_latex() -> None:
    table = ShownTable(
        "evil", r"50 % of \input{x}", ("a_b", "c"), [("[1cm] & \\\\", "−1.0"), ("*\n\n\\end{tabular}", "–")]
    )

    text = latex_table(table)

    assert r"\caption{50 \% of \textbackslash{}input\{x\}}" in text
    assert "\n{[}1cm] \\& \\textbackslash{}\\textbackslash{} & $-$1.0 \\\\\n" in text
    assert "\n{*} \\textbackslash{}end\\{tabular\\} & \\textendash{} \\\\\n" in text
    assert text.count(r"\end{tabular}") == 1


PRINTABLE = "".join(map(chr, range(32, 127))) + "–…’−±×"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX here; the tests above read the files with a parser")
def test_latex_itself_sets_every_table(page: Path, tmp_path: Path) -> None:
    """The packages that the files name, and no error, warning or sign that its font does not have."""
    evil = ShownTable("evil", PRINTABLE, ("a_b", "[c"), [("[1cm] & \\\\", "−1.0"), (PRINTABLE, "–"), ("*", "--- ~ ^")])
    (tmp_path / "evil.tex").write_text(latex_table(evil))
    tables = [tmp_path / "evil.tex", *sorted((page.parent / "index-tables").glob("*.tex"))]
    packages = sorted({line for path in tables for line in re.findall(r"^% (\\usepackage.*)", path.read_text(), re.M)})
    body = [f"\\input{{{path}}}\\clearpage" for path in tables]
    lines = [r"\documentclass{article}", *packages, r"\begin{document}", *body, r"\end{document}"]
    (tmp_path / "all.tex").write_text("\n".join(lines))

    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300)
    told = (tmp_path / "all.log").read_text(errors="replace")
    assert done.returncode == 0, told[-2000:]
    assert "Missing character" not in told
    assert re.search(rf"Output written on all.pdf \({len(tables)} pages", told)


def test_names_that_differ_in_signs_only_have_files_of_their_own(tmp_path: Path) -> None:
    tables = [ShownTable(key, key, ("a",), [("1",)]) for key in ("words a/b", "words a b", "words ../A-B")]

    write_table_files(tmp_path / "page-tables", tables)

    assert file_names(tables) == {"words a/b": "words-a-b", "words a b": "words-a-b-2", "words ../A-B": "words-..-a-b"}
    assert len(list((tmp_path / "page-tables").iterdir())) == 6
