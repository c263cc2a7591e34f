"""What the reference is made of: topics, their messages, and the fields of subscriptions.

Times are whole seconds after the start of the world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

MINUTE, HOUR, DAY = 60, 3_600, 86_400


class Refused(Exception):
    """A request that is answered with an error of this canonical code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def refuse_unless(valid: bool, code: str = "INVALID_ARGUMENT") -> None:
    if not valid:
        raise Refused(code)


@dataclass(eq=False)
class Message:
    """A message of a topic: its place in the order of receipt, and the commit that it came in."""

    number: int
    commit: int
    publish_time: int
    data: str
    attributes: Mapping[str, str]
    key: str
    stored: bool = True

    def __repr__(self) -> str:
        return f"{self.data}@{self.publish_time}"


@dataclass(frozen=True)
class Draft:
    """What a publisher gives."""

    data: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    key: str = ""


@dataclass(eq=False)
class Topic:
    """A topic and every message that it ever had. "_deleted-topic_" is this with ``deleted``."""

    name: str
    retention: int | None
    retained_from: int
    deleted: bool = False
    messages: list[Message] = field(default_factory=list)
    commits: int = 0

    def append(self, drafts: list[Draft], publish_time: int) -> list[Message]:
        self.commits += 1
        new = [
            Message(
                len(self.messages) + place,
                self.commits,
                publish_time,
                draft.data,
                draft.attributes,
                draft.key,
            )
            for place, draft in enumerate(drafts)
        ]
        self.messages += new
        return new

    def retain(self, seconds: int | None, now: int) -> None:
        # "turned on at time R: covers what is published from R on; lengthened from D1 to D2 at R:
        # what was covered at R stays covered (from R − D1); cleared: nothing more is covered"
        before = self.covered_from(now)
        self.retained_from = now if before is None else before
        self.retention = seconds

    def covered_from(self, now: int) -> int | None:
        # "`_deleted-topic_`: the topic's retention no longer applies"
        if self.retention is None or self.deleted:
            return None
        return max(self.retained_from, now - self.retention)

    def covers(self, message: Message, now: int) -> bool:
        since = self.covered_from(now)
        return since is not None and message.publish_time >= since


@dataclass(frozen=True)
class Fields:
    """The fields of a subscription; durations in seconds, None for "never" and for no policy."""

    ack_deadline: int = 10
    retention: int = 7 * DAY
    retain_acked: bool = False
    ttl: int | None = 31 * DAY
    filter: str = ""
    ordered: bool = False
    exactly_once: bool = False
    dead_letter: tuple[str, int] | None = None
    retry: tuple[int, int] | None = None

    def check(self, topic: str) -> None:
        """Refuse what the table of section 3 does not permit."""
        refuse_unless(self.ack_deadline == 0 or 10 <= self.ack_deadline <= 600)
        refuse_unless(10 * MINUTE <= self.retention <= 31 * DAY)
        # "≥ 1 d and > `message_retention_duration`"
        refuse_unless(self.ttl is None or (self.ttl >= DAY and self.ttl > self.retention))
        refuse_unless(self.filter in FILTERS)
        if self.dead_letter is not None:
            target, attempts = self.dead_letter
            refuse_unless(5 <= attempts <= 100 and target != topic)
        if self.retry is not None:
            smallest, largest = self.retry
            refuse_unless(0 <= smallest <= largest <= 600)


FILTERS: dict[str, Callable[[Mapping[str, str]], bool]] = {
    "": lambda _: True,
    "attributes:kind": lambda of: "kind" in of,
    'attributes.kind = "a"': lambda of: "kind" in of and of["kind"] == "a",
    # "A missing attribute: `=` false, `!=` true, `hasPrefix` false, `NOT hasPrefix` true."
    'attributes.kind != "a"': lambda of: "kind" not in of or of["kind"] != "a",
    'NOT hasPrefix(attributes.kind, "a")': lambda of: not of.get("kind", "").startswith("a"),
    'attributes:odd OR (attributes.kind = "ab" AND NOT attributes:odd)': lambda of: (
        "odd" in of or of.get("kind") == "ab"
    ),
}
"""Filters, and what the grammar of section 7 makes of them, said once more by hand."""


@dataclass(frozen=True)
class Letter:
    """A message on its way to a dead-letter topic, and how often it was delivered."""

    target: str
    draft: Draft

    @classmethod
    def of(cls, message: Message, target: str, subscription: str, deliveries: int) -> Letter:
        # "with the original data, attributes and ordering key plus …"
        told = {
            "CloudPubSubDeadLetterSourceDeliveryCount": str(deliveries),
            "CloudPubSubDeadLetterSourceSubscription": subscription,
            "CloudPubSubDeadLetterSourceSubscriptionProject": "local",
            "CloudPubSubDeadLetterSourceTopicPublishTime": rfc3339(message.publish_time),
        }
        return cls(target, Draft(message.data, {**message.attributes, **told}, message.key))


def rfc3339(seconds: int) -> str:
    """Write a time of the world, which starts with the year 2026."""
    days, of_day = divmod(seconds, DAY)
    year = 2026
    if days < 0:
        year, days = 2025, days + 365
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    while days >= sum(lengths):
        year, days = year + 1, days - sum(lengths)
        lengths[1] = 29 if year % 4 == 0 else 28
    month = 0
    while days >= lengths[month]:
        days -= lengths[month]
        month += 1
    hours, minutes = divmod(of_day // MINUTE, 60)
    return f"{year}-{month + 1:02}-{days + 1:02}T{hours:02}:{minutes:02}:{of_day % MINUTE:02}Z"
