"""Text of others, names of files say, as a terminal and a page can show it."""

from __future__ import annotations


def printable(text: str) -> str:
    """A name as a terminal can show it: control characters and bytes that are not UTF-8 become escapes."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def printable_lines(text: str) -> str:
    """The same of a message of several lines, which our own are; ids in it have lost their line breaks before."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":  # how Python writes a byte of a file name that is not UTF-8
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()
