"""Seeded bugs of ``console/message_page.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_schemas.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_dead_letters.py",
    "tests/unit/test_console_live_messages.py",
    "tests/unit/test_console_successors.py",
)

BUGS = (
    Bug(
        "message-of-another-topic",
        "The console publishes a message of a later topic in the place of the one that it showed.",
        "if of is not None and search.topic_uid != of:",
        "if of is not None and search.topic_uid != search.topic_uid:",
    ),
    Bug(
        "letter-to-its-own-topic",
        "A dead letter is published again to the dead-letter topic.",
        "topic = own if letter is None else letter.source_topic",
        "topic = own",
    ),
    Bug(
        "published-again-to-whatever-topic-there-is",
        "Messages are published again to a topic that was created anew since the look.",
        "list(map(_original, group.messages)), if_unchanged=group.topic",
        "list(map(_original, group.messages))",
    ),
    Bug(
        "letter-keeps-its-history",
        "A dead letter is published again with the attributes that forwarding added.",
        "if not k.startswith(DEAD_LETTER_PREFIX)}",
        "}",
    ),
    Bug(
        "copy-keeps-its-history",
        "A copy of a dead letter that is edited keeps the attributes that forwarding added.",
        "    original = _original(message)\n",
        "    original = message\n",
    ),
    Bug(
        "a-message-shown-of-a-later-topic",
        "The page of a message leads on with the topic that has its name by then.",
        "of=search.topic_uid,",
        "of=_topic_uid(console, kind, id_),",
    ),
    Bug(
        "republish-keeps-source",
        "A dead letter without attributes of its own is published again with those that "
        "forwarding added.",
        "    if not kept and not message.data:  #",
        "    if not kept:  #",
    ),
    Bug(
        "named-twice-published-twice",
        "A message that is chosen twice is published twice.",
        "list(dict.fromkeys(numbers))[:MOST]",
        "list(numbers)[:MOST]",
    ),
    Bug(
        "later-groups-unpublished",
        "A failure of a second topic hides that messages were published to the first.",
        "                if not pairs:\n                    raise named from None\n",
        "                raise named from None\n",
    ),
    Bug(
        "published-again-with-its-schema",
        "The console publishes a message again with what its schema has added, which is refused.",
        " if k not in ATTRIBUTES}",
        "}",
    ),
    Bug(
        "again-by-its-place",
        "A message that is refused when it is published again is named by its place in a request.",
        'return InvalidArgument(f"message {messages[index].message_id}: {why}")',
        "return error",
    ),
)
