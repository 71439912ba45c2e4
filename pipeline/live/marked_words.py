"""What was searched for, marked in the sentences that were found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from pipeline.core import printable

WORD = re.compile(r"([\w']+)")


def marked(text: str, words: Sequence[str] = ()) -> Markup:
    """Each word of the text that begins as one of `words`, which are small letters."""
    pieces = WORD.split(printable(text))  # every second one is a word
    begins = tuple(words)
    return Markup().join(
        Markup("<mark>{}</mark>").format(piece) if place % 2 and piece.casefold().startswith(begins) else escape(piece)
        for place, piece in enumerate(pieces)
    )
