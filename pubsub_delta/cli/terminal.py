"""Texts that a terminal shows: control characters are written out, so that no data steers it."""

from __future__ import annotations

from collections.abc import Callable


def printable(text: str) -> str:
    r"""Write control characters as escapes, so that data cannot steer a terminal.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def for_terminal(text: str) -> str:
    r"""Write control characters as escapes, but for those that only move on: ends of lines, tabs.

    >>> for_terminal("a\tb\x1b[2J\r\n")
    'a\tb\\x1b[2J\\r\n'
    """
    return escaped(text, _visible, kept="\t")


def escaped(text: str, escape: Callable[[str], str], kept: str = "") -> str:
    """Return a text whose characters that cannot be printed are escaped, line by line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.isprintable():
            lines[number] = "".join(
                each if each.isprintable() or each in kept else escape(each) for each in line
            )
    return "\n".join(lines)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
