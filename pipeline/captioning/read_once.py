"""What is told when a first reading is asked of a run that has none."""

from __future__ import annotations


def read_once(run: str) -> str:
    return (
        f"caption.first_reading adds nothing to the captions of {run}: "
        "only vre with watch: refocus reads a video twice, and in an ensemble every member must"
    )
