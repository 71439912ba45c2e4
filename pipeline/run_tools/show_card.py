"""`framescribe runs show`: the model card of a run's file, once all of the file is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.core import Console, write_text
from pipeline.run_tools.run_file import open_run_file


def show_and_write_card(path: Path, *, out: Path | None, console: Console) -> dict[str, Any]:
    """Printed, or with `out` written as Markdown."""
    file = open_run_file(path)
    if out is None:
        console.say(file.card.rstrip("\n"))
    else:
        write_text(out, file.card)
        console.say(f"written: {out}")
    sizes = {name: len(part) for name, part in file.parts.items()}
    return {"run": file.run, "file": str(path), "parts": sizes, "weights": file.needed, "card": file.card}
