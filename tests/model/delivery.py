"""Pulls, and what consumers say of messages, done to the reference and to a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pubsub_delta import AckResult, PubSub
from tests.model.comparison import Comparison, Given
from tests.model.drivers import Delivered
from tests.model.reference import Others
from tests.model.reference_subscription import OPEN, Named, Subscription
from tests.model.reference_values import Message


class Delivery(Comparison):
    """What a comparison does of the delivery of messages."""

    def pull(self, store: PubSub, subscription: Subscription, count: int | None) -> list[Given]:
        """Pull, and see to the dead letters; return the ack ids."""
        found: list[Delivered] = []
        expected = self.both(
            lambda: self.reference.pull(subscription.name, count),
            lambda: found.extend(self.driver.pull(store, subscription.name, count)),
        )
        if expected is None:
            return []
        taken, letters = expected
        self.forwarded(letters)
        return self._delivered(subscription, taken, found)

    def _delivered(
        self, subscription: Subscription, expected: list[Message], found: list[Delivered]
    ) -> list[Given]:
        topic, rows = subscription.topic, subscription.rows
        assert [self.messages[topic, each.message_id] for each in found] == expected
        for message, each in zip(expected, found, strict=True):
            attempt = rows[message].attempt if subscription.fields.dead_letter else None
            assert (each.data, each.attempt) == (message.data, attempt)
            assert each.until == rows[message].until
        given = [
            Given(each.ack_id, subscription, subscription.deliveries, message)
            for message, each in zip(expected, found, strict=True)
        ]
        # "Every delivery has a fresh `ack_id`; `message_id` stays the same."
        fresh = {each.ack_id for each in given} - {each.ack_id for each in self.given}
        assert len(fresh) == len(given)
        self.seen["delivered"] += len(given)
        self.given += given
        return given

    def acknowledge(
        self,
        store: PubSub,
        subscription: Subscription,
        own: Sequence[Given],
        others: Sequence[str] = (),
    ) -> None:
        """Acknowledge ids of a subscription, and others that are none of it."""
        name, results = subscription.name, list[AckResult]()
        outcomes = self.both(
            lambda: self.reference.acknowledge(name, named_by(own), self._sorted(others)),
            lambda: results.append(store.acknowledge(name, texts_of(own, others))),
        )
        if outcomes is not None:
            found = by_ack_id(results[0])
            for each in {one for one in own if outcomes[one.delivery, one.message] == OPEN}:
                outcomes[each.delivery, each.message] = found[each.ack_id]
                subscription.counts[found[each.ack_id]] += 1
            self._compare_outcomes(found, outcomes, own, others)

    def modify(
        self,
        store: PubSub,
        subscription: Subscription,
        seconds: int,
        own: Sequence[Given],
        others: Sequence[str] = (),
    ) -> None:
        """Give deliveries a new deadline, or give them back."""
        name, results = subscription.name, list[AckResult]()
        outcomes = self.both(
            lambda: self.reference.modify(name, named_by(own), seconds, self._sorted(others)),
            lambda: results.append(store.modify_ack_deadline(name, texts_of(own, others), seconds)),
        )
        if outcomes is not None:
            self._compare_outcomes(by_ack_id(results[0]), outcomes, own, others)

    def _compare_outcomes(
        self,
        found: dict[str, str],
        outcomes: dict[Named, str],
        own: Sequence[Given],
        others: Sequence[str],
    ) -> None:
        expected = {each.ack_id: outcomes[each.delivery, each.message] for each in own}
        expected.update(dict.fromkeys(others, "invalid"))
        self.seen.update(expected.values())
        assert found == expected

    def _sorted(self, others: Sequence[str]) -> Others:
        """Sort ids that are none of a subscription: those of another one, and what is no id."""
        known = {each.ack_id for each in self.given}
        texts = set(others)
        return Others(len(texts & known), len(texts - known))


def named_by(own: Sequence[Given]) -> set[Named]:
    return {(each.delivery, each.message) for each in own}


def texts_of(own: Sequence[Given], others: Sequence[str]) -> list[str]:
    return [*(each.ack_id for each in own), *others]


def by_ack_id(result: Any) -> dict[str, str]:
    """Return the outcome of every id; each has exactly one."""
    outcomes = ("success", "expired", "invalid")
    found = [(text, outcome) for outcome in outcomes for text in getattr(result, outcome)]
    assert len(found) == len(dict(found)), "an id with two outcomes"
    return dict(found)
