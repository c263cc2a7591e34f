"""Escapes control characters, so that data cannot control the terminal."""

from __future__ import annotations

from collections.abc import Callable


def printable(text: str) -> str:
    r"""Escape control characters.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def for_terminal(text: str) -> str:
    r"""Escape control characters, except newlines and tabs.

    >>> for_terminal("a\tb\x1b[2J\r\n")
    'a\tb\\x1b[2J\\r\n'
    """
    return escaped(text, _visible, kept="\t")


def escaped(text: str, escape: Callable[[str], str], kept: str = "") -> str:
    """Return a text with escaped unprintable characters, except newlines and ``kept``."""
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
