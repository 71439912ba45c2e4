"""A project whose files can be browsed: stores, clips that decode, captions, evaluated runs, a log and a command."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.command_progress import CommandProgress
from tests.browsing.made_project import SCRIPT, write_project
from tests.report.conftest import build_project

PAGES = {
    "browse": "/browse",
    "store": "/browse/videos?store=toy",
    "rows": "/browse/rows?store=toy&video=video003&row=2",
    "failed": "/browse/rows?store=toy&video=%3Cscript%3Edocument.title%3D%27taken%27%3C%2Fscript%3E",
    "search": "/search?q=cat",
    "compare": "/compare?first=a&second=b",
    "watch": "/watch",
}


def build_browsed(root: Path) -> None:
    """The clips video000 to video019 are in the index and in the store, with sentences of the runs a and b."""
    build_project(root)
    write_project(root)
    told = CommandProgress(f"decode {SCRIPT}", root / "logs/commands")
    with told.bar(f"decode {SCRIPT}", 10) as bar:
        told.link("javascript", "javascript:document.title='taken'")
        bar.advance(3, note=SCRIPT)
