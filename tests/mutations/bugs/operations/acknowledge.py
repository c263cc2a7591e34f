"""Seeded bugs of ``operations/acknowledge.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_spark_errors.py",
    "tests/unit/test_batches.py",
    "tests/unit/test_consumer_calls.py",
    "tests/unit/test_reading_leases.py",
    "tests/unit/test_publish_calls.py",
    "tests/unit/test_expiration.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_arrow_from_elsewhere.py",
    "tests/unit/test_wrong_arguments.py",
)

BUGS = (
    Bug(
        "foreign-ack-id",
        "An ack id of another subscription acknowledges here.",
        "if ack_id is not None and ack_id.subscription_uid == subscription.uid:",
        "if ack_id is not None:",
    ),
    Bug(
        "call-of-malformed-ids",
        "A call with no well-formed id at all is accepted.",
        "if not any(parsed.values()):",
        "if not parsed:",
    ),
    Bug(
        "malformed-ids-not-passed",
        "The number of malformed ids is not passed on to the counters.",
        "malformed=malformed",
        "malformed=0",
    ),
    Bug(
        "ack-is-no-activity",
        "Acknowledging does not keep a subscription from expiring.",
        "return replay.note_activity(state, following, found.subscription, now), outcomes",
        "return following, outcomes",
    ),
    Bug(
        "foreign-lease",
        "The whole batch of a deleted subscription is acknowledged on its successor.",
        "if targets.subscription_uid != found.uid:",
        "if False:",
    ),
    Bug(
        "ack-ids-in-no-utf8",
        "An Arrow array of texts that are no UTF-8 is an error that is not documented.",
        "    except UnicodeDecodeError as error:",
        "    except LookupError as error:",
    ),
    Bug(
        "error-of-a-generator-of-ack-ids-is-another",
        "An error of the generator of a program is told as that it is no list of ack ids.",
        "        each = iter(given)\n",
        "        each = iter(list(given))\n",
    ),
    Bug(
        "one-malformed-id-refuses-all",
        "One text that is no ack id refuses all ids beside it.",
        "if not any(parsed.values()):",
        "if not all(parsed.values()):",
    ),
    Bug(
        "ack-ids-of-a-stream",
        "A streaming DataFrame of ack ids is refused by Spark, in its own words.",
        "    if frame.isStreaming:",
        "    if frame is None:",
        needs_spark=("tests/delta/test_batches.py",),
    ),
    Bug(
        "new-deadline-that-is-past",
        "A deadline that a call moves while it waits for another process is told as moved, and is "
        "over.",
        "return deadline + max(clock() - now, timedelta(0)) if deadline else deadline",
        "return deadline",
    ),
    Bug(
        "given-back-by-its-name-alone",
        "A batch of a deleted subscription gives back messages of a later one of its name.",
        """    if found.uid != targets.subscription_uid:  # that subscription was deleted meanwhile
        return
""",
        "",
    ),
)
