"""Seeded bugs of ``policy/replay.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_replay.py",
    "tests/unit/test_snapshots.py",
    "tests/unit/test_seek_calls.py",
    "tests/unit/test_every_seek.py",
    "tests/unit/test_streams.py",
    "tests/unit/test_whole_states_of_seeks.py",
)

BUGS = (
    Bug(
        "last-noted-seek-decides",
        "A first seek that reaches back further is not read for.",
        "    return min(versions)\n",
        "    return versions[-1]\n",
    ),
    Bug(
        "seek-voids-no-lease",
        "A seek does not void the ack ids of deliveries before it.",
        "first_lease_id=state.next_lease_id,",
        "first_lease_id=state.first_lease_id,",
    ),
    Bug(
        "seek-keeps-attempts",
        "A seek resets neither attempts nor failures.",
        "spans.append(span.untried())",
        "spans.append(span.released())",
    ),
    Bug(
        "seek-before-failures",
        "Leases that were over before a seek have not failed for it: no acked follower returns.",
        "    state = delivery.settle(state, terms, seek.at)\n    spans = []",
        "    spans = []",
    ),
    Bug(
        "floor-ignored",
        "A seek into the future does not acknowledge what is published until then.",
        "replace(state, floor=time if time > seek.at else None),",
        "replace(state, floor=None),",
    ),
    Bug(
        "floor-stays",
        "A seek to the past does not end a purge until a later time.",
        "floor=time if time > seek.at else None)",
        "floor=time if time > seek.at else state.floor)",
    ),
    Bug(
        "late-commit-ignored",
        "Messages that were committed after a seek to a time count as before it.",
        "state = _absorb(state, log, seek.at_version, retain=retain)\n"
        "    state = replace(state, after_version=seek.at_version)",
        "state = _absorb(state, log, None, retain=retain)",
    ),
    Bug(
        "discarded-comes-back",
        "A seek to a time brings back more than the topic's retention covers.",
        "log.covered(seek.at_version, max(time, seek.covered_from))",
        "log.covered(seek.at_version, time)",
    ),
    Bug(
        "retained-from-another-time",
        "A seek to a time brings back retained messages that were published before it.",
        "limit = max(time, seek.at - terms.subscription.message_retention_duration)",
        "limit = seek.at - terms.subscription.message_retention_duration",
    ),
    Bug(
        "seek-acks-for-good",
        "What a seek to a time acknowledges is not retained where it should be.",
        "        retained += [span.retained() for span in past]",
        "        retained += []",
    ),
    Bug(
        "snapshot-forgets-what-followed",
        "A seek to a snapshot brings back nothing that was published after it was taken.",
        "state, after_version=captured.after_version, floor=captured.floor",
        "state, after_version=seek.at_version, floor=captured.floor",
    ),
    Bug(
        "snapshot-forgets-a-purge",
        "A snapshot does not hold a pending purge.",
        "return Captured(tidy.spans, state.after_version, state.floor, filter_)",
        "return Captured(tidy.spans, state.after_version, None, filter_)",
    ),
    Bug(
        "withdrawn-with-others",
        "With a seek that is taken back all others go that were noted.",
        "seeks=(*state.seeks[:place], *state.seeks[place + 1 :])",
        "seeks=()",
    ),
    Bug(
        "forwarding-taken-for-gone",
        "A message on its way to the dead-letter topic is taken out with what is gone.",
        "kept = [span if span.state in DECIDED else span.only(stored)",
        "kept = [span.only(stored)",
    ),
    Bug(
        "snapshot-keeps-attempts",
        "A seek to a snapshot brings messages back with their old attempts.",
        "spans = (span.untried() for span in state.unacked())",
        "spans = (span.released() for span in state.unacked())",
    ),
    Bug(
        "snapshot-expiry-without-age",
        "A snapshot lives for 7 days, whatever the age of its oldest message.",
        "expire_time = now + SNAPSHOT_LIFETIME - age",
        "expire_time = now + SNAPSHOT_LIFETIME",
    ),
    Bug(
        "exactly-an-hour-refused",
        "A snapshot with exactly an hour to live is refused.",
        "return expire_time - now >= SHORTEST_SNAPSHOT",
        "return expire_time - now > SHORTEST_SNAPSHOT",
    ),
    Bug(
        "snapshot-of-another-filter",
        "The seeker's filter is not applied to a snapshot of a subscription with another one.",
        "if spans and captured.filter != terms.subscription.filter:",
        "if spans and not captured.filter:",
    ),
    Bug(
        "history-not-read-far-enough",
        "A look at the topic does not reach back to the snapshot that a seek asks for.",
        "            versions.append(seek.captured.after_version)",
        "            versions.append(seek.at_version)",
    ),
    Bug(
        "empty-pulls-are-no-activity",
        "Pulls that find nothing are noted as activity only after a whole ttl.",
        "if now - last < ttl / ACTIVITY_GRANULARITY:",
        "if now - last <= ttl:",
    ),
    Bug(
        "filter-of-the-source-decides",
        "A filtered subscription that seeks to a snapshot of an unfiltered one gets everything.",
        "if spans and captured.filter != terms.subscription.filter:",
        "if spans and captured.filter and captured.filter != terms.subscription.filter:",
    ),
    Bug(
        "a-seek-keeps-micro-batches",
        "A query that goes on after a seek acknowledges what the seek has brought back.",
        "        streams=tuple(stream.without(stream.positions) for stream in state.streams),\n",
        "",
    ),
    Bug(
        "a-snapshot-leaves-out-what-backs-off",
        "A seek to a snapshot does not bring back what was backing off when it was taken.",
        "spans = (span.untried() for span in state.unacked())",
        "spans = (span.untried() for span in state.in_state(State.AVAILABLE, State.LEASED))",
    ),
    Bug(
        "activity-by-a-clock-behind",
        "A use by a machine whose clock is behind makes a subscription look idle for longer.",
        "active_time=max(now, last)",
        "active_time=now",
    ),
    Bug(
        "a-snapshot-drops-what-is-decided",
        "A seek to a snapshot loses messages that are being forwarded or written.",
        "[*going, *(span.without(leaving)",
        "[*(span.without(leaving)",
    ),
    Bug(
        "a-seek-to-now-purges-what-follows",
        "After a seek to its own moment messages with that publish time are acknowledged.",
        "floor=time if time > seek.at else None",
        "floor=time if time >= seek.at else None",
    ),
    Bug(
        "the-log-of-a-snapshot-is-cleaned",
        "A topic's log may be cleaned up to what a noted seek to a snapshot reads.",
        "return min(versions)",
        "return max(versions)",
    ),
)
