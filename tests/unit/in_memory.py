"""A store on tables in memory: the real client, operations and policy, for tests of single calls.

Times are seconds after START, and messages are told by their data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pubsub_delta.delivery import sources
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.tables.store import Tables
from tests.model.drivers import Delivered, MemoryDriver
from tests.model.reference_values import Draft
from tests.unit.builders import at

TOPIC, LETTERS, NAME = "flights", "letters", "first"


class InMemory:
    """A store with the topic ``flights`` and, with fields, its subscription ``first``."""

    def __init__(self, **fields: Any) -> None:
        self.driver = MemoryDriver()
        self.store = self.driver.open()
        self.store.create_topic(LETTERS)
        self.store.create_topic(TOPIC)
        self.store.create_subscription(NAME, TOPIC, **fields)

    @property
    def tables(self) -> Tables:
        return self.store._tables

    @property
    def now(self) -> datetime:
        return self.driver.clock.now()

    def be_at(self, seconds: float) -> None:
        """Let time pass until so many seconds after START."""
        self.driver.clock.advance((at(seconds) - self.now).total_seconds())

    def publish(
        self,
        *data: str,
        topic: str = TOPIC,
        attributes: Mapping[str, str] | None = None,
        late: int = 0,
    ) -> None:
        """Commit messages that were stamped some seconds ago."""
        drafts = [Draft(each, dict(attributes or {}), "") for each in data]
        self.driver.publish(self.store, topic, drafts, late)

    def pull(self, count: int | None = None, name: str = NAME) -> list[Delivered]:
        return self.driver.pull(self.store, name, count)

    def ack(self, *data: str, name: str = NAME) -> None:
        """Pull all that is available, acknowledge some of it, and give the rest back."""
        pulled = self.pull(name=name)
        chosen = [each.ack_id for each in pulled if each.data in data]
        assert len(chosen) == len(data)
        self.store.acknowledge(name, chosen)
        rest = [each.ack_id for each in pulled if each.data not in data]
        if rest:
            self.store.modify_ack_deadline(name, rest, 0)

    def backlog(self, name: str = NAME) -> dict[str, str]:
        """Return the state of each unacknowledged message, by its data."""
        topic_uid = sources.source(self.tables, self.store._subscription(name)).topic_uid
        data = {each.message_id: each.draft.data for each in self.driver.stored(topic_uid)}
        found = self.driver.backlog(self.driver.open(), name)
        return {data[message_id]: state for message_id, (state, _) in found.items()}

    def stored(self, topic: str = TOPIC) -> list[str]:
        """Return the messages that a topic stores, in the order of receipt."""
        return self.stored_under(self.store.get_topic(topic).uid)

    def stored_under(self, uid: str) -> list[str]:
        return [each.draft.data for each in self.driver.stored(uid)]

    def revision(self, name: str = NAME) -> int:
        """Return how often the ack state of a subscription was written."""
        uid = self.store.get_subscription(name).uid
        return self.tables.ack_state_tables.read(uid).revision

    def change(self, change: Callable[[AckState], AckState], name: str = NAME) -> None:
        """Change the ack state of a subscription, as another process does."""
        uid = self.store.get_subscription(name).uid
        other = self.driver.open()._tables.ack_states
        other.change(uid, lambda state: (change(state), None))
