"""Parsers of the command line: one that answers a mistyped word with the nearest one there is, and actions."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

CHOICE = re.compile(r"invalid choice: '?(?P<wrong>[^']*?)'? \(choose from (?P<known>.*)\)")


class CommandParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """argparse's own message and exit code 2. Its list of choices is in the message, whoever declared them."""
        choice = CHOICE.search(message)
        known = re.findall(r"[\w-]+", choice["known"]) if choice else []
        super().error(message + (did_you_mean(choice["wrong"], known) if choice else ""))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Unknown ones are refused here, and not by the parser above: this one knows which options it has."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._nearest_option(unknown)}")
        return found, unknown

    def _nearest_option(self, unknown: Sequence[str]) -> str:
        wrong = next((each.partition("=")[0] for each in unknown if each.startswith("--")), "")
        return did_you_mean(wrong, self._option_string_actions)


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """The end of a message; empty when nothing is near. Dashes do not make two options alike."""
    names = {name.strip("-"): name for name in known}
    close = difflib.get_close_matches(wrong.strip("-"), names, n=1)
    return f"; did you mean '{names[close[0]]}'?" if close else ""


def add_actions(parser: argparse.ArgumentParser) -> Callable[[str, str], argparse.ArgumentParser]:
    """What adds an action of a command by name and text; --json and --quiet may stand behind it too."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    shared.add_argument("--quiet", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=text, description=text, parents=[shared])

    return action
