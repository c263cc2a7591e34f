"""How wide the columns of a table are on a terminal: whole where they fit, folded where not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

_MARKS = " _,;/"
NARROWEST = 4
"""No column is made narrower."""


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Return widths that take so much room together: the widest give, the others stay.

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
    """Yield the parts of a line, none of them wider; a wide character counts as two.

    It ends after a blank or a mark in the last half of a part, if there is one.

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
