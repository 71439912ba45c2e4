"""What an address asks for, addresses, and sizes. A page's state is in its address, to be shared and reloaded."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote

from starlette.requests import Request

MOST_DIGITS = 9  # of a number: a longer one means the last page, and nothing may be made to count so far


def asked(request: Request) -> dict[str, str]:
    """The query; a name whose bytes are no UTF-8 keeps them, as the names of files do."""
    text = request.scope["query_string"].decode("ascii", "replace")
    return dict(parse_qsl(text, errors="surrogateescape", max_num_fields=50))


def number(text: str | None, *, default: int) -> int:
    """What is no number is the default, and what is too long is the largest."""
    if text is None or not text.isascii() or not text.isdigit():
        return default
    return int(text) if len(text) <= MOST_DIGITS else 10**MOST_DIGITS


def address(path: str, **query: object) -> str:
    """Without what is empty, so that equal pages have equal addresses."""
    pairs = [f"{key.rstrip('_')}={_quoted(value)}" for key, value in query.items() if value not in ("", None)]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def _quoted(value: object) -> str:
    return quote(str(value), safe="", errors="surrogateescape")


def size(count: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:.0f} B"
