"""Seeded bugs of ``server/assigner.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_memory.py",
    "tests/unit/test_server_assigner.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "unread-stream-takes-everything",
        "What waits for a stream is bounded by what it asks for alone.",
        "if self.max_unsent and self.unsent and self.unsent + size > self.max_unsent:",
        "if self.max_unsent and self.unsent and self.unsent < 0:",
    ),
    Bug(
        "a-small-message-overtakes-its-key",
        "A later message of a key is sent before an earlier, larger one that has no room.",
        "                if key:\n                    held_up.add(key)\n",
        "",
    ),
    Bug(
        "large-message-never-sent",
        "A message larger than what may wait for a stream is never sent.",
        "if self.max_unsent and self.unsent and self.unsent + size > self.max_unsent:",
        "if self.max_unsent and self.unsent + size > self.max_unsent:",
    ),
    Bug(
        "sent-bytes-subtracted-twice",
        "The bytes of a sent message are subtracted twice from those that a server holds.",
        "self.memory.add(-1, 0 if self.is_sent else -self.size)",
        "self.memory.add(-1, -self.size)",
    ),
    Bug(
        "a-paused-endpoint-gets-messages",
        "An endpoint that has a pause gets messages all the same.",
        "if not self.is_open or self.is_paused:",
        "if not self.is_open:",
    ),
    Bug(
        "two-pushes-of-a-key",
        "Two messages of an ordering key are pushed to an endpoint at once.",
        "takes = not owner.keys_singly and owner.has_room(delivery.size)",
        "takes = owner.has_room(delivery.size)",
    ),
    Bug(
        "by-turns-only",
        "The consumer with the fewest messages is not the first.",
        "free = [(each.messages, each.turn, next(number), each)",
        "free = [(each.turn, each.messages, next(number), each)",
    ),
    Bug(
        "first-stream-first",
        "Of streams that have equally many messages the first one is given each.",
        "(each.messages, each.turn, next(number), each) for each in consumers",
        "(each.messages, 0, next(number), each) for each in consumers",
    ),
    Bug(
        "unanswered-to-the-same",
        "A message that a stream has not answered is given to it again, with another one idle.",
        "delivery.consumer = None\n        consumer.turn = next(self._turns)\n",
        "delivery.consumer = None\n",
    ),
    Bug(
        "failed-at-the-only-one",
        "A message that the only stream has not answered is given to none.",
        "return last_choice[-1] if last_choice is not None else None",
        "return None",
    ),
    Bug(
        "one-message-beyond-what-is-unsent",
        "A stream that is not read is given a message more than it may keep.",
        "self.unsent >= self.max_unsent",
        "self.unsent > self.max_unsent",
    ),
)
