"""Tables of Markdown, as cards have them."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose first row is its header, and a line that ends it."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [lines[0], f"|{'---|' * len(rows[0])}", *lines[1:], ""]
