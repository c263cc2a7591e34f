"""Seeded bugs of ``delivery/consuming.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/protocol/test_outages.py",
    "tests/unit/test_server_forwarding.py",
    "tests/lanes/test_table_given.py",
    "tests/unit/test_consumer_calls.py",
    "tests/unit/test_expiration.py",
    "tests/unit/test_restored.py",
    "tests/unit/test_server_access_changes.py",
    "tests/unit/test_many_dead_letters.py",
    *TABLE_WRITES,
)

BUGS = (
    Bug(
        "empty-pull-commits",
        "A pull that finds nothing and has nothing to remember is a commit all the same.",
        "following = following if keep else state",
        "following = replay.note_activity(state, following, source.subscription, now) if keep else "
        "replay.replace(state, active_time=now)",
    ),
    Bug(
        "pull-is-no-activity",
        "Pulling does not keep a subscription from expiring.",
        "        following = replay.note_activity(state, following, source.subscription, now)\n"
        "        return following, _Decision",
        "        return following, _Decision",
    ),
    Bug(
        "empty-pull-forwards-nothing",
        "A pull that leases nothing does not forward what it decided to.",
        "    if decision.forwarding:",
        "    if decision.forwarding and decision.leased:",
    ),
    Bug(
        "tables-can-be-pulled",
        "Messages that are written to a table can be pulled, too.",
        "if leases and found.subscription.table_config is not None:",
        "if leases and found.subscription.table_config is not None and not name:",
    ),
    Bug(
        "writes-are-left-by-a-pull",
        "What was on its way to a table that is no longer wanted is never pulled.",
        "    if decision.state.in_state(State.WRITING):",
        "    if decision.state.in_state(State.WRITING) and not decision.leased:",
    ),
    Bug(
        "outcomes-lost-with-a-forwarding",
        "Where dead letters cannot be forwarded, acks that were written beside them fail for good.",
        "except Exception as error:",
        "except ZeroDivisionError as error:",
    ),
    Bug(
        "attempts-counted-without-roles",
        "Delivery attempts are counted where nothing may be forwarded.",
        "        found = found.without_dead_letters()\n",
        "        pass\n",
    ),
    Bug(
        "forwarding-goes-on-without-roles",
        "What another process decided to forward is forwarded without the roles for it.",
        "forwarding = forward and bool(",
        "forwarding = bool(",
    ),
    Bug(
        "deleted-messages-looked-for-again",
        "Every pull of nothing looks again whether the held messages are stored.",
        "if has_moved and before.spans and source.has_lost_messages(before.after_version):",
        "if False:",
    ),
    Bug(
        "acks-beside-a-new-table",
        "Acknowledgements are lost that came when another process gave the subscription a table.",
        "            lease = _lease_nothing\n",
        "            lease, apply = _lease_nothing, no_request\n",
    ),
    Bug(
        "refused-pull-forgets-its-request",
        "What a consumer acknowledged is written to the table that its subscription was given.",
        "            if apply is no_request:\n",
        "            if leases:\n",
    ),
    Bug(
        "pull-of-nothing-reads-keys-again",
        "Each pull of nothing from an ordered subscription reads the topic's keys once more.",
        "return source.subscription.enable_message_ordering and after.spans != before.spans",
        "return False",
    ),
    Bug(
        "forwarding-of-others-forgotten",
        "A pull with nothing to lease does not complete a forwarding of a process that ended.",
        "forwarding = forward and bool(following.in_state(State.FORWARDING))",
        "forwarding = forward and following != state",
    ),
    Bug(
        "problem-of-forwarding-hidden",
        "A pull does not warn that dead letters could not be appended.",
        "problem = dead_letters.forward(tables, source, now).problem or problem",
        "dead_letters.forward(tables, source, now)",
    ),
    Bug(
        "problem-of-a-decision-is-lost",
        "A pull does not warn that exhausted messages have no topic, if others were forwarded.",
        "dead_letters.forward(tables, source, now).problem or problem",
        "dead_letters.forward(tables, source, now).problem",
    ),
    Bug(
        "storage-that-fails-after-a-lease-ends-its-pull",
        "A pull fails, and holds what it has leased, as dead letters cannot be forwarded now.",
        "        except Exception as error:  # what was decided",
        "        except KeyError as error:  # what was decided",
    ),
)
