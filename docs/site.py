"""What mkdocs needs to read pages that are written for GitHub: the README as the first page, its anchors, its links."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

DOCS = Path(__file__).parent
ROOT = DOCS.parent
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"^(```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
ITEM = r"(?:[-*]|\d+\.) "


def on_config(config: Any) -> Any:
    config.mdx_configs["toc"] = {"slugify": anchor, "permalink": False}
    return config


def on_files(files: Any, config: Any) -> Any:
    files.append(File.generated(config, "index.md", content=(ROOT / "README.md").read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    folder = ROOT if page.file.src_uri == "index.md" else DOCS
    parts = FENCED.split(markdown)
    return "".join(part if number % 2 else _for_site(part, folder) for number, part in enumerate(parts))


def _for_site(text: str, folder: Path) -> str:
    linked = LINK.sub(lambda found: _link(found, folder), text)
    return re.sub(rf"^(?!\s*{ITEM}|\s*$|\s|#|\|)(.+\n)(?={ITEM})", r"\1\n", linked, flags=re.MULTILINE)


def _link(found: re.Match[str], folder: Path) -> str:
    """A file that is not on the site is named and not linked; one that is nowhere stays a link, and the build fails."""
    text, path, place = found[1], found[2], found[3] or ""
    target = Path(os.path.normpath(folder / path))
    if target.is_relative_to(DOCS):
        return f"[{text}]({target.relative_to(DOCS).as_posix()}{place})"
    if target == ROOT / "README.md":
        return f"[{text}](index.md{place})"
    if not target.exists():
        return found[0]
    name = target.relative_to(ROOT).as_posix()
    return text if name in text else f"{text} (`{name}`)"


def anchor(heading: str, separator: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)
