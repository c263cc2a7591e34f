"""Samples of the publishes of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def spread(counts: Sequence[int], picks: int) -> list[int]:
    """Choose parts at equal steps through all messages; return their places, one for each pick.

    ``counts``: the messages of each part. A part with more messages is chosen more often, so the
    mean over the picks estimates the mean of all messages (systematic sampling with probability
    proportional to size).

    >>> spread([100, 1, 1, 98], 4)
    [0, 0, 3, 3]
    >>> spread([5], 3), spread([0, 0], 3)
    ([0, 0, 0], [])
    """
    total = sum(counts)
    if total <= 0:
        return []
    ends = list(accumulate(counts))
    chosen, place = [], 0
    for pick in range(picks):
        while ends[place] * picks * 2 <= (2 * pick + 1) * total:
            place += 1
        chosen.append(place)
    return chosen
