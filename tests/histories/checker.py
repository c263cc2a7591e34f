"""The checker: what in a history cannot be, if the store keeps its promises.

It knows the specification and nothing of the library. ``violations`` returns what it found; each
names the subscription, the message and the operations that contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.histories import answers, deliveries
from tests.histories.effects import Effects
from tests.histories.records import History, Violation


def violations(history: History) -> list[Violation]:
    """Return everything that contradicts the specification."""
    effects = Effects(history)
    found = [*answers.of_ends(history), *answers.of_answers(history), *answers.of_ids(history)]
    found += [*answers.of_lives(history), *answers.of_letters(effects)]
    for view in effects.views():
        found += [
            *deliveries.never_published(effects, view),
            *deliveries.held_twice(view),
            *deliveries.outcomes(effects, view),
            *deliveries.given_again(view),
            *deliveries.out_of_order(effects, view),
            *deliveries.lost(effects, view),
        ]
    return found


def kinds(found: Iterable[Violation]) -> Counter[str]:
    """Count violations by their kind."""
    return Counter(each.kind for each in found)
