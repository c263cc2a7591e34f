"""Bugs of what the server answers, keeps of policies, and takes over."""

from __future__ import annotations

from tests.mutations.bug import Bug

_IAM = "policy/iam.py"
_MESSAGES = "policy/messages.py"

BUGS_OF_ANSWERS = (
    Bug(
        "reserved-key-in-upper-case",
        "An attribute key that begins with GOOG is published.",
        _MESSAGES,
        "return key[: len(RESERVED_PREFIX)].lower() == RESERVED_PREFIX and key not in TRACE_KEYS",
        "return key.startswith(RESERVED_PREFIX) and key not in TRACE_KEYS",
    ),
    Bug(
        "request-of-many-messages-unbounded",
        "Only single messages are bounded, and not what a request holds together.",
        "server/publisher_service.py",
        "size = sum(map(size_of, messages))",
        "size = max(map(size_of, messages))",
    ),
    Bug(
        "request-that-grpc-refuses",
        "A request that is too large is refused by gRPC, with a code that clients try again.",
        "server/serve.py",
        "LARGEST_READ = 128 * 1024 * 1024",
        "LARGEST_READ = 16 * 1024 * 1024",
    ),
    Bug(
        "streams-of-an-ending-server-are-cut",
        "A server that ends while it writes a table cuts its streams after ten seconds.",
        "server/serve.py",
        "await asyncio.gather(self._writers.stop(), self._hub.stop())",
        "[await each.stop() for each in (self._writers, self._hub)]",
    ),
    Bug(
        "ids-of-another-subscription-pass",
        "Ack ids of another subscription are answered as if they were acknowledged.",
        "server/ack_futures.py",
        "if self.foreign:",
        "if self.foreign and self.malformed:",
    ),
    Bug(
        "told-success-repeated",
        "With exactly-once delivery a repeated ack succeeds for ever.",
        "server/leaser.py",
        "self._acknowledged.pop(ack_id, None)",
        "pass",
    ),
    Bug(
        "policy-of-another-etag-replaced",
        "An IAM policy that was changed since it was read is overwritten.",
        _IAM,
        "if new.etag and new.etag != stored.etag:",
        "if new.etag and not stored.etag:",
    ),
    Bug(
        "policy-keeps-its-etag",
        "A changed IAM policy has the etag that it had.",
        _IAM,
        "return replace(new if with_bindings else stored, etag=etag)",
        "return replace(new if with_bindings else stored, etag=stored.etag)",
    ),
    Bug(
        "condition-of-an-old-version",
        "A condition is shown to clients that do not know conditions.",
        _IAM,
        "if version < 3 and any(",
        "if version < 0 and any(",
    ),
    Bug(
        "mask-of-a-policy-ignored",
        "A mask that does not name the bindings changes them.",
        "operations/iam.py",
        "written = replaced(stored, checked, tables.new_id(), with_bindings=with_bindings)",
        "written = replaced(stored, checked, tables.new_id(), with_bindings=True)",
    ),
    Bug(
        "policy-of-a-deleted-topic",
        "A new topic of the same name has the policy of the one that was deleted.",
        "tables/registry/iam_policies.py",
        "        return is_living(row)\n",
        "        return True\n",
    ),
    Bug(
        "permission-of-another-kind",
        "Permissions that there are not on a resource are granted.",
        _IAM,
        "return [each for each in asked if each in PERMISSIONS.get(collection, ())]",
        "return asked",
    ),
    Bug(
        "living-server-taken-over",
        "What a server leased that lives, or is only stopped, is given to others.",
        "server/lease_journals.py",
        "    except (OSError, Timeout):\n        return None\n    return lock",
        "    except (OSError, Timeout):\n        return lock\n    return lock",
    ),
    Bug(
        "server-of-another-machine-taken-over",
        "The lock of another machine is judged.",
        "server/lease_journals.py",
        "if each.name.startswith(alike)",
        "if each.name",
    ),
    Bug(
        "given-messages-taken-over",
        "What clients were given is given to others at once when their server is gone.",
        "server/lease_journals.py",
        'held | named if what == "leased" else held - named',
        'held | named if what == "leased" else held',
    ),
    Bug(
        "torn-journal-believed",
        "A journal that ends within a line is read, and what was given last is given again.",
        "server/lease_journals.py",
        'if not text.endswith("\\n"):',
        "if not text:",
    ),
    Bug(
        "clients-lose-their-deadlines",
        "What clients have is leased for no longer than what waits.",
        "policy/outstanding.py",
        "elif end is not None and end > now + self.length:",
        "elif False:",
    ),
    Bug(
        "short-leases-where-commits-are-slow",
        "Leases end before a slow request has extended them.",
        "server/lease_lengths.py",
        "slowest_request * _REQUESTS_IN_A_LEASE",
        "slowest_request",
    ),
    Bug(
        "overdue-lease-given-away",
        "A process that was stopped gives away what others have leased since.",
        "server/leaser.py",
        "if lease.until <= now]",
        "if lease.until < lease.until]",
    ),
    Bug(
        "memory-beyond-its-bound",
        "Where more than the bound is in memory, more is read.",
        "server/memory.py",
        "free = max(0, whole._most_bytes - whole.bytes)",
        "free = whole._most_bytes - whole.bytes",
    ),
    Bug(
        "sent-messages-stay-in-memory",
        "What was sent stays in memory until it is acknowledged.",
        "server/response_queue.py",
        "delivery.was_sent()",
        "pass",
    ),
    Bug(
        "unread-stream-takes-everything",
        "What waits for a stream is bounded by what it asks for alone.",
        "server/assigner.py",
        "if self.max_unsent and self.unsent and self.unsent + size > self.max_unsent:",
        "if self.max_unsent and self.unsent and self.unsent < 0:",
    ),
    Bug(
        "failed-publish-holds-room",
        "Messages whose publishing failed count against the limits of the publisher for ever.",
        "publisher.py",
        "self._release(batch)\n            self._paused |= keys",
        "self._paused |= keys",
    ),
    Bug(
        "who-waits-is-overtaken",
        "A message that comes later and fits is published before those that wait for room.",
        "publisher.py",
        "return bool(self._blocked) or not self._has_room(size)",
        "return not self._has_room(size)",
    ),
)
