"""Column widths of a table on a terminal, and folding of cells that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len

_MARKS = " _,;/"
NARROWEST = 4
"""No column is made narrower."""


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Return widths that fit in ``room``; the widest columns shrink.

    >>> fitted([4, 80, 30], 60), fitted([4, 8], 60), fitted([40, 40], 6)
    ([4, 28, 28], [4, 8], [4, 4])
    """
    found = list(widths)
    while (over := sum(found) - room) > 0:
        widest = max(found, default=0)
        if widest <= NARROWEST:
            break
        those = [n for n, width in enumerate(found) if width == widest]
        below = max([NARROWEST, *(width for width in found if width < widest)])
        shrunk = max(below, widest - -(-over // len(those)))
        for n in those:
            found[n] = shrunk
    return found


def folded(line: str, width: int) -> Iterator[str]:
    """Fold a line into parts of at most ``width``; a wide character counts as two.

    A part ends after the last blank or separator in its second half, if there is one.

    >>> list(folded("abcdef", 4)), list(folded("日本語", 4)), list(folded("", 4))
    (['abcd', 'ef'], ['日本', '語'], [''])
    >>> list(folded("DELIVERY_ATTEMPT", 12))
    ['DELIVERY_', 'ATTEMPT']
    """
    part, taken = "", 0
    for character in line:
        size = cell_len(character)
        if part and taken + size > width:
            end = max(map(part.rfind, _MARKS)) + 1
            end = end if 2 * end > len(part) else len(part)
            yield part[:end]
            part = part[end:]
            taken = cell_len(part)
        part, taken = part + character, taken + size
    yield part


def wrapped(widths: Sequence[int], least: Mapping[int, int], room: int) -> list[int]:
    """Return widths where wrapped columns share the room that others leave, as in gcloud.

    ``least``: by the number of a column, how narrow it may get.

    >>> wrapped([4, 80, 30], {1: 10, 2: 10}, 60), wrapped([4, 8], {1: 10}, 60)
    ([4, 28, 28], [4, 8])
    """
    if sum(widths) <= room or not least:
        return list(widths)
    left = room - sum(width for n, width in enumerate(widths) if n not in least)
    share = left // len(least)
    return [
        max(share, min(least[n], width)) if n in least else width for n, width in enumerate(widths)
    ]


def worded(text: str, width: int) -> Iterator[str]:
    """Wrap a text at blanks, or inside a word that is wider than a line.

    >>> list(worded("on time again", 8)), list(worded("abcdefgh ij", 4))
    (['on time', 'again'], ['abcd', 'efgh', 'ij'])
    """
    while cell_len(text) > width or "\n" in text:
        end, taken = 0, 0
        while end < len(text) and (taken := taken + cell_len(text[end])) <= width:
            end += 1
        end = max(end, 1)
        end += len(text[end:]) - len(text[end:].lstrip())
        line_end = text.find("\n") + 1
        if 0 < line_end <= end:
            end = line_end
        else:
            blanks = [each.end() for each in re.finditer(r"\s+", text) if each.end() <= end]
            end = blanks[-1] if blanks else end
        yield text[:end].rstrip()
        text = text[end:]
    if text:
        yield text
