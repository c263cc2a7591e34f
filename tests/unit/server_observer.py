"""Who watches the clients of simulated servers: what they were given and told, and what must hold.

It knows what clients see, and nothing of the servers; what it compares are numbers and plain words.
A client *holds* a message from its delivery to its deadline, or to its answer if that comes before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

MOMENT = 0.001
"""Seconds by which two times may differ that are the same."""


class Violated(Exception):
    """Something that must hold did not."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant


@dataclass(frozen=True)
class Delivered:
    """One delivery, as its client sees it.

    ``ack_id``: "" for a push. ``attempt``: 0 where none is counted.
    """

    ack_id: str
    position: int
    data: str
    key: str
    attempt: int = 0

    @property
    def lease_id(self) -> int:
        return int(self.ack_id.split(".")[1])


@dataclass(eq=False)
class Client:
    """A stream, a pull or an endpoint.

    ``most``, ``most_bytes``: the messages and bytes that it can hold. ``prompt``: whether it reads
    at once what it is sent. ``room_since``: since when it has had room for one more, infinity while
    it has none. ``holds``: until when it holds which message; ``by``: the ack id of the last
    delivery of each.
    """

    name: str
    most: int
    prompt: bool
    room_since: float
    most_bytes: int = 0
    holds: dict[int, float] = field(default_factory=dict)
    by: dict[int, str] = field(default_factory=dict)

    is_open: bool = field(default=True, init=False)

    def leaves(self) -> None:
        """Have room for nothing any more."""
        self.is_open = False
        self.note_room(math.inf)

    def note_room(self, now: float) -> None:
        is_sure = self.is_open and self.prompt and not self.most_bytes
        if not is_sure or len(self.holds) >= self.most:
            self.room_since = math.inf
        else:
            self.room_since = min(self.room_since, now)


@dataclass
class Seen:
    """A message as clients know it.

    ``promised``: whether its publisher was told its id. ``available``: since when a client could
    have been given it, None where that is not known. ``answered``: whether a client tried to
    acknowledge it. ``acked``: whether that is sure to count. ``is_over``: whether it was before
    this life of the subscription, or a seek has acknowledged it.
    """

    data: str
    key: str
    promised: bool = False
    available: float | None = None
    answered: bool = False
    acked: bool = False
    is_over: bool = False
    deliveries: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Rules:
    """What is promised in a storm.

    ``ordered``: the subscription has ordering. ``in_order``: no message of a key comes while an
    earlier one is available. ``final``: an ack is final, also if an earlier message of its key
    fails. ``alone``: nobody is given what another client holds. ``latest``: seconds within which an
    available message comes to a client that has room for it, or infinity. ``attempts``: the most
    deliveries before a message is a dead letter, or 0.
    """

    ordered: bool
    in_order: bool
    final: bool
    alone: bool
    latest: float
    attempts: int = 0


class Observer:
    """What must hold of the deliveries of one subscription."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.messages: dict[int, Seen] = {}
        self.clients: list[Client] = []
        self.deliveries = 0
        self.first: Violated | None = None
        self._ack_ids: set[str] = set()
        self._uid = ""
        self._first_lease = self._seeks = 0

    def violated(self, invariant: str, what: str) -> Violated:
        """Return what is to be raised, and remember it where a server catches it."""
        self.first = self.first or Violated(invariant, what)
        return self.first

    # Publishers

    def promised(self, position: int, data: str, key: str, now: float) -> None:
        """Note that a publisher was told the id of its message."""
        seen = self.messages.setdefault(position, Seen(data, key))
        if seen.promised or (seen.data, seen.key) != (data, key):
            raise self.violated(
                "each message has an id of its own", f"{position}: {seen}, and {data!r}"
            )
        seen.promised = True
        if not seen.deliveries:
            seen.available = now

    # Clients

    def joined(self, client: Client) -> None:
        self.clients.append(client)

    def delivered(self, client: Client, given: Delivered, now: float, until: float) -> None:
        """Check a delivery, whose deadline is ``until`` if the client reads at once."""
        self._expire(now)
        position = given.position
        seen = self.messages.setdefault(position, Seen(given.data, given.key))
        what = f"{position} to {client.name} at {now:.3f}: {seen}"
        if (seen.data, seen.key) != (given.data, given.key):
            raise self.violated("what was published is delivered", what)
        if given.ack_id in self._ack_ids:
            raise self.violated("each delivery has an ack id of its own", what)
        self._ack_ids.update([given.ack_id] if given.ack_id else ())
        if self._is_void(given):
            return  # of an earlier life, or before a seek; its server does not know of it yet
        if seen.is_over or (seen.acked and self._is_final(position)):
            raise self.violated("what is acknowledged does not come again", what)
        self._check_attempt(given.attempt, seen, what)
        if self.rules.alone:
            self._check_alone(position, now, what)
            self._check_key(position, seen, what)
        self._check_time(seen, now, what)
        if seen.deliveries and not self.rules.final:
            self._void_later(position)
        seen.acked, seen.available = False, None
        seen.deliveries += 1
        self.deliveries += 1
        if client.prompt:
            self._hold(client, given, until, what)
            client.note_room(now)

    def holds(self, client: Client, given: Delivered, now: float) -> bool:
        """Return whether a client is sure to hold a message still, and for more than a second."""
        self._expire(now)
        return self._has(client, given) and client.holds[given.position] > now + 1

    def extended(self, client: Client, given: Delivered, until: float) -> None:
        """Note a new deadline of a message that the client holds."""
        client.holds[given.position] = until

    def answers(self, client: Client, given: Delivered, now: float, *, acks: bool) -> None:
        """Note that a client holds a message no longer: its ack or nack is on its way."""
        seen = self.messages[given.position]
        seen.available = None
        seen.answered = seen.answered or acks
        if self._has(client, given):
            del client.holds[given.position]
            client.note_room(now)

    def acknowledged(self, given: Delivered) -> None:
        """Note an ack that counts."""
        if not self._is_void(given):
            self.messages[given.position].acked = True

    def failed(self, given: Delivered, now: float) -> None:
        """Note a nack that counts."""
        if not self._is_void(given):
            self._fail(given.position, now)

    # Operators

    def sought(self, unacked: set[int], uid: str, first_lease: int) -> None:
        """Note a seek or a new life: all but these are acknowledged, and no lease counts."""
        self._uid, self._first_lease, self._seeks = uid, first_lease, self._seeks + 1
        for position, seen in self.messages.items():
            seen.is_over = position not in unacked
            seen.acked, seen.available = False, None
        for client in self.clients:
            client.holds.clear()

    # The end

    def check_end(self, unacked: set[int], dead_letters: list[str]) -> None:
        """Check that every message was acknowledged by a client, or is one dead letter."""
        if self.first is not None:
            raise self.first
        left = {n: self.messages[n] for n in unacked if n in self.messages}
        if unacked:
            raise self.violated("everything comes and is acknowledged in the end", f"{left}")
        if len(set(dead_letters)) < len(dead_letters):
            raise self.violated("each dead letter is written once", f"{sorted(dead_letters)}")
        for position, seen in self.messages.items():
            is_dead = seen.data in dead_letters
            if seen.promised and not (seen.answered or seen.is_over or is_dead):
                raise self.violated("nothing is lost", f"{position}: {seen}")
            if is_dead and seen.acked and self._is_final(position):
                raise self.violated("no dead letter was acknowledged", f"{position}: {seen}")

    # Inside

    def _is_void(self, given: Delivered) -> bool:
        if not given.ack_id:
            return self._seeks > 1  # nobody can tell whether it was leased before or after
        of_this_life = given.ack_id.startswith(self._uid)
        return not of_this_life or given.lease_id < self._first_lease

    def _has(self, client: Client, given: Delivered) -> bool:
        """Return whether a client holds a message by this delivery, and not by a later one."""
        return given.position in client.holds and client.by[given.position] == given.ack_id

    def _hold(self, client: Client, given: Delivered, until: float, what: str) -> None:
        client.holds[given.position] = until
        client.by[given.position] = given.ack_id
        held = [self.messages[n] for n in client.holds]
        size = sum(len(each.data) + len(each.key) for each in held)
        too_many = len(held) > client.most
        if self.rules.alone and (too_many or (len(held) > 1 and size > client.most_bytes > 0)):
            raise self.violated(
                "nobody is sent more than its flow control allows", f"{size}; {what}"
            )

    def _fail(self, position: int, now: float) -> None:
        failed = self.messages[position]
        failed.available = now
        failed.failures += 1
        if self.rules.ordered and failed.key:  # the later ones of its key fail with it
            for client in self.clients:
                for later in [n for n in client.holds if n > position]:
                    if self.messages[later].key == failed.key:
                        del client.holds[later]
                        client.note_room(now)

    def _expire(self, now: float) -> None:
        for client in self.clients:
            for position, until in sorted(client.holds.items()):
                if until <= now and position in client.holds:
                    del client.holds[position]
                    client.note_room(until)
                    self._fail(position, until)

    def _is_final(self, position: int) -> bool:
        if self.rules.final or not self.rules.ordered:
            return True
        return all(each.acked for n, each in self._of_key(position) if n < position)

    def _void_later(self, position: int) -> None:
        for n, later in self._of_key(position):
            if self.rules.ordered and n > position:
                later.acked = False

    def _of_key(self, position: int) -> Iterable[tuple[int, Seen]]:
        key = self.messages[position].key
        return [(n, each) for n, each in self.messages.items() if key and each.key == key]

    def _check_alone(self, position: int, now: float, what: str) -> None:
        for each in self.clients:
            if each.holds.get(position, 0.0) > now + MOMENT:
                raise self.violated(
                    "no two clients hold a message", f"{what}; {each.name} holds it"
                )

    def _check_key(self, position: int, seen: Seen, what: str) -> None:
        if not self.rules.in_order:
            return
        for n, earlier in self._of_key(position):
            if n < position and earlier.available is not None and not earlier.is_over:
                raise self.violated("each key comes in order", f"{what}, before {n}: {earlier}")

    def _check_attempt(self, attempt: int, seen: Seen, what: str) -> None:
        most = self.rules.attempts
        is_exact = most and self.rules.latest < math.inf  # in a calm one
        least = 1 + seen.failures if is_exact else min(most, 1)
        if not least <= attempt <= (least if is_exact else most):
            raise self.violated("each failed delivery is counted", f"attempt {attempt}; {what}")

    def _check_time(self, seen: Seen, now: float, what: str) -> None:
        since = seen.available
        if since is None or (self.rules.ordered and seen.key):
            return
        late = now - since
        if late > self.rules.latest and any(each.room_since <= since for each in self.clients):
            raise self.violated("what is available comes soon", f"{what}, {late:.3f} s late")
