"""What a shell offers at the Tab key, from the parsers themselves: commands, their actions, options and choices."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

BASH = """\
_framescribe() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  local command="${{COMP_WORDS[1]}}" action="${{COMP_WORDS[2]}}"
  [ "$COMP_CWORD" -le 1 ] && command="" action=""
  [ "$COMP_CWORD" -le 2 ] && action=""
  case "$command $action" in
{actions}
    *) case "$command" in
{commands}
    esac ;;
  esac
  case "$command $action $previous" in
{choices}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _framescribe framescribe
"""
ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
SEEN = "__fish_seen_subcommand_from"


@dataclass(frozen=True)
class Offer:
    """What can follow a command, or one of its actions."""

    place: tuple[str, ...]  # () of the program, (command,), or (command, action)
    words: Mapping[str, str]  # actions and positional choices -> what they do
    options: Mapping[str, argparse.Action]


def completion_script(shell: str, parsers: Mapping[str, argparse.ArgumentParser], texts: Mapping[str, str]) -> str:
    offers = [Offer((), texts, {}), *(each for name, parser in parsers.items() for each in _offers((name,), parser))]
    return {"bash": _bash, "zsh": lambda found: ZSH + _bash(found), "fish": _fish}[shell](offers)


def _offers(place: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[Offer]:
    words: dict[str, str] = {}
    options: dict[str, argparse.Action] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
            words |= {each.dest: each.help or "" for each in action._choices_actions}
        elif action.option_strings:
            options[action.option_strings[-1]] = action
        elif action.choices:
            words |= {str(choice): "" for choice in action.choices}
    yield Offer(place, words, options)
    for name, sub in below.items():
        yield from _offers((*place, name), sub)


def _bash(offers: list[Offer]) -> str:
    lines: dict[int, list[str]] = {0: [], 1: [], 2: []}
    choices = []
    for each in offers:
        words = " ".join([*each.words, *each.options])
        pattern = shlex.quote(" ".join(each.place)) if each.place else '""'
        lines[len(each.place)].append(f"    {pattern}) words={shlex.quote(words)} ;;")
        for option, action in each.options.items():
            given = " ".join(map(str, action.choices or ()))
            where = shlex.quote(" ".join(each.place)) + ('" "' if len(each.place) == 2 else '" "*" "') + option
            if given:
                choices.append(f"    {where}) words={shlex.quote(given)} ;;")
            elif action.nargs != 0:
                choices.append(f"    {where}) words= ;;")  # a value of its own: files are offered
    return BASH.format(actions="\n".join(lines[2]), commands="\n".join(lines[0] + lines[1]), choices="\n".join(choices))


def _fish(offers: list[Offer]) -> str:
    return "".join(line + "\n" for each in offers for line in _fish_lines(each))


def _fish_lines(offer: Offer) -> Iterator[str]:
    seen = "; and ".join(f"{SEEN} {name}" for name in offer.place) or "__fish_use_subcommand"
    still = f"; and not {SEEN} {' '.join(offer.words)}" if offer.place and offer.words else ""
    start = "complete -c framescribe -n"
    for word, text in offer.words.items():
        yield f"{start} {shlex.quote(seen + still)} -f -a {word} -d {shlex.quote(text)}"
    for option, action in offer.options.items():
        text = shlex.quote((action.help or "").replace("%(default)s", str(action.default)))
        given = f" -x -a {shlex.quote(' '.join(map(str, action.choices)))}" if action.choices else ""
        value = " -r" if not given and action.nargs != 0 else ""
        yield f"{start} {shlex.quote(seen)} -l {option.removeprefix('--')}{given}{value} -d {text}"
