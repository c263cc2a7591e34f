"""Bugs of fields, messages, filters, ack ids, pages and bitmaps."""

from __future__ import annotations

from tests.mutations.bug import Bug

_FIELDS = "policy/fields.py"
_MESSAGES = "policy/messages.py"

BUGS_OF_VALUES = (
    Bug(
        "truncated-ack-id",
        "An ack id with a wrong check is taken for another message.",
        "policy/ack_ids.py",
        "return ack_id if str(ack_id) == text else None",
        "return ack_id",
    ),
    Bug(
        "last-position-missing",
        "A contiguous set lacks its last position.",
        "policy/positions.py",
        "bitmap.add_range(first, last + 1)",
        "bitmap.add_range(first, max(first + 1, last))",
    ),
    Bug(
        "one-position-too-many",
        "The first so many positions are one too many.",
        "policy/positions.py",
        "int(self._bitmap[count - 1])",
        "int(self._bitmap[count])",
    ),
    Bug(
        "anew-is-the-same",
        "A resource that was deleted and created anew is taken for the one that was read.",
        "policy/unchanged.py",
        "if now[name] != then[name]]",
        'if name not in ("uid", "create_time") and now[name] != then[name]]',
    ),
    Bug(
        "of-another-resource",
        "What was read of another resource is accepted as the condition of a change.",
        "policy/unchanged.py",
        "if if_unchanged.name != name:",
        "if not if_unchanged.name:",
    ),
    Bug(
        "page-begins-with-the-last",
        "A page begins with the last resource of the page before.",
        "policy/paging.py",
        "if item.name > after)",
        "if item.name >= after)",
    ),
    Bug(
        "page-after-the-last",
        "A last page that is full has a token for another one.",
        "policy/paging.py",
        "if len(shown) < len(rest) else",
        "if len(shown) <= len(rest) and shown else",
    ),
    Bug(
        "ttl-equal-to-retention",
        "A ttl that is not longer than the message retention is accepted.",
        _FIELDS,
        "if policy.ttl <= message_retention_duration:",
        "if policy.ttl < message_retention_duration:",
    ),
    Bug(
        "ttl-of-the-old-retention",
        "An update compares the ttl with the message retention from before it.",
        _FIELDS,
        'changes.get("message_retention_duration", subscription.message_retention_duration),',
        "subscription.message_retention_duration,",
    ),
    Bug(
        "snapshot-expires-now",
        "A snapshot may be given an expire_time that is not in the future.",
        _FIELDS,
        "if not now < time <= latest:",
        "if not now <= time <= latest:",
    ),
    Bug(
        "equal-backoffs-refused",
        "A maximum_backoff equal to the minimum is refused.",
        _FIELDS,
        "if smallest > largest:",
        "if smallest >= largest:",
    ),
    Bug(
        "pull-of-none",
        "A pull of 0 messages is accepted.",
        _FIELDS,
        "(not whole or max_messages <= 0):",
        "(not whole or max_messages < 0):",
    ),
    Bug(
        "own-topic-by-its-id",
        "A subscription's own topic is accepted for its dead letters, if given as a short id.",
        _FIELDS,
        "if target == topic:",
        "if policy.dead_letter_topic == topic:",
    ),
    Bug(
        "differs-needs-the-attribute",
        "A filter with != is false where the attribute is missing.",
        "policy/filters.py",
        "return Not(Equals(*found))",
        "return And((Has(found[0]), Not(Equals(*found))))",
    ),
    Bug(
        "filter-measured-in-characters",
        "The length of a filter is counted in characters and not in bytes.",
        "policy/filters.py",
        'size = len(text.encode(errors="surrogatepass"))',
        "size = len(text)",
    ),
    Bug(
        "blank-filter-refused",
        "A filter of blanks is a syntax error.",
        "policy/filters.py",
        "return _parse(text) if text.strip(_BLANKS) else None",
        "return _parse(text) if text else None",
    ),
    Bug(
        "ordering-key-weighs-nothing",
        "The bytes of the ordering key are not counted in a message's size.",
        _MESSAGES,
        "size = len(message.data) + _bytes(message.ordering_key)",
        "size = len(message.data)",
    ),
    Bug(
        "values-measured-in-characters",
        "Attributes and keys are measured in characters and not in bytes.",
        _MESSAGES,
        "return len(text) if text.isascii() else len(text.encode())",
        "return len(text)",
    ),
    Bug(
        "sample-of-the-first",
        "The sample for mean sizes begins at the first message of each step, not in its middle.",
        "policy/sampling.py",
        "<= (2 * pick + 1) * total:",
        "<= 2 * pick * total:",
    ),
)
