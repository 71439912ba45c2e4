"""Each table of the page as two files in a folder beside it: CSV for programs, LaTeX for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.core import fresh_folder
from pipeline.report.csv_tables import csv_text
from pipeline.report.shown_tables import ShownTable

COMMANDS = {  # characters that mean something to LaTeX, or that its first font does not have
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "–": r"\textendash{}",
    "…": r"\textellipsis{}",
    "’": r"\textquoteright{}",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "[": "{[}",  # after the end of a row it would begin the row's space,
    "*": "{*}",  # and this forbid a page break
}
ESCAPES = str.maketrans(COMMANDS | {sign: f"\\{sign}" for sign in "&%$#_{}"})


def latex(text: str) -> str:
    """Any text as one line that LaTeX prints as it is."""
    one_line = " ".join(text.split()).translate(ESCAPES)
    return re.sub("-(?=-)", "-{}", one_line)  # two would become a dash


def latex_table(table: ShownTable) -> str:
    """Whatever the template names is escaped, as HTML is on the page."""
    environment = Environment(  # noqa: S701  not HTML
        loader=PackageLoader("pipeline.report", "."),
        finalize=latex,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        variable_start_string="<<",
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
    )
    sides = ["r" if _are_numbers(cells) else "l" for cells in zip(*table.rows, strict=True)]
    return environment.get_template("table.tex").render(table=table, columns="".join(sides))


def _are_numbers(cells: Iterable[str]) -> bool:
    return all(re.match(r"[+−]?\d|–", cell) for cell in cells)


def tables_beside(page: Path) -> Path:
    return page.with_name(f"{page.stem}-tables")


def file_names(tables: Sequence[ShownTable]) -> dict[str, str]:
    """key -> name of its files, without ending; names that only differ in signs stay apart."""
    names: dict[str, str] = {}
    for table in tables:
        plain = re.sub(r"[^\w.-]+", "-", table.key.lower()).strip("-.")
        taken = set(names.values())
        names[table.key] = next(name for name in _numbered(plain) if name not in taken)
    return names


def _numbered(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def table_links(folder: Path, tables: Sequence[ShownTable]) -> dict[str, str]:
    """key -> address of its files, without ending."""
    return {key: f"{quote(folder.name)}/{quote(name)}" for key, name in file_names(tables).items()}


def write_table_files(folder: Path, tables: Sequence[ShownTable]) -> None:
    names = file_names(tables)
    with fresh_folder(folder, known_by="*.tex") as temporary:
        for table in tables:
            path = temporary / names[table.key]
            _write(path.with_name(f"{path.name}.csv"), csv_text(table.columns, table.rows))
            _write(path.with_name(f"{path.name}.tex"), latex_table(table))


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode(errors="replace"))  # a file name that is not UTF-8 must not cost the tables
