"""Bugs at lines that were drawn by chance, which no test near them had noticed."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_THIRTEENTH_OUTSIDER = (
    Bug(
        "reasons-of-the-messages-before",
        "A dead letter says why another message did not fit the table, or nothing.",
        "delivery/table_writes.py",
        "return {int(messages[place].message_id): why for place, why in unfit.items()}",
        "return {int(messages[0].message_id) + place: why for place, why in unfit.items()}",
    ),
    Bug(
        "published-at-the-instant-of-a-commit",
        "Metrics over time do not count what was published at the instant of a commit.",
        "operations/survey.py",
        "(until_then if time <= start else later)",
        "(until_then if time < start else later)",
    ),
    Bug(
        "issuer-that-was-asked-for",
        "Tokens of pushes name the address of the server, whatever issuer was asked for.",
        "server/serve.py",
        "self._settings.push_issuer or self._address(port)",
        "self._address(port)",
    ),
    Bug(
        "traced-by-the-first-id",
        "Every traced message of a publish is told by the id of the first one.",
        "server/otel.py",
        'span.set_attribute("messaging.message.id", ids[place])',
        'span.set_attribute("messaging.message.id", ids[0])',
    ),
    Bug(
        "publisher-of-no-topic",
        "A publisher of a topic that does not exist begins, and fails message by message.",
        "methods/streams.py",
        "    self._tables.topic(name)\n\n    def commit",
        "    def commit",
    ),
    Bug(
        "on-its-way-to-a-damaged-topic",
        "A dead letter is bound to a topic that takes none, though another one is set later.",
        "delivery/dead_letters.py",
        "why = GONE if topic is None else _why_not(tables, topic.uid)",
        "why = GONE if topic is None else None",
    ),
)
