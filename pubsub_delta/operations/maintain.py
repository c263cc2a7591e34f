"""Maintain: periodic work that pulls do not do, or not soon enough. One function for each duty."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

from pubsub_delta.delivery import dead_letters, expiration, table_subscriptions, table_writes
from pubsub_delta.delivery.discard import discard, forget_commits, stored_topics
from pubsub_delta.delivery.sources import Source, source_of, still_attached
from pubsub_delta.durations import Duration, parse_duration_within
from pubsub_delta.errors import FailedPrecondition, NotFound, counted, with_class
from pubsub_delta.names import subscription_name
from pubsub_delta.policy.ack_state import AckState, State
from pubsub_delta.policy.arguments import check_switch
from pubsub_delta.resources import Subscription
from pubsub_delta.tables.store import Tables

_CALLING = re.compile(r"An error occurred while calling \S+\s+: ")
"""The beginning of a Java error that PySpark has no class for."""
_LOG_RETENTION = (timedelta(minutes=1), timedelta(days=365))
"""The range of ``log_retention``."""


@dataclass(frozen=True)
class Duties:
    """The duties of a run of ``maintain``, in this order; ``dry_run`` only reports them.

    ``exact``: retention deletes to the message, and not only whole days of publishing.
    ``log_retention``: how long the commits of topics are kept; None removes none.
    """

    tables: bool
    dead_letters: bool
    expiration: bool
    retention: bool
    exact: bool
    optimize: bool
    vacuum: bool
    log_retention: timedelta | None
    dry_run: bool

    def __post_init__(self) -> None:
        """Raise InvalidArgument for a duty that is neither True nor False."""
        for each in fields(self):
            if each.name != "log_retention":
                check_switch(getattr(self, each.name), each.name)


@dataclass(frozen=True)
class MaintenanceReport:
    """What a run of ``maintain`` did, or would do, by the full name of the resource.

    ``written``: messages written to the tables of subscriptions. ``dead_letters``: messages
    forwarded, by subscription. ``expired``: subscriptions and snapshots deleted. ``discarded``:
    deleted messages that no subscription or snapshot could get, by topic. ``kept_from``: the
    earliest publish time that one can still get, by topic; None without any. ``optimized``: files
    replaced by fewer, by topic. ``vacuumed``: topics without unneeded files by now.
    ``forgotten``: commits removed from the logs of topics. ``problems``: why a duty failed; the
    others were done.
    """

    written: dict[str, int] = field(default_factory=dict)
    dead_letters: dict[str, int] = field(default_factory=dict)
    expired: list[str] = field(default_factory=list)
    discarded: dict[str, int] = field(default_factory=dict)
    kept_from: dict[str, datetime | None] = field(default_factory=dict)
    optimized: dict[str, int] = field(default_factory=dict)
    vacuumed: list[str] = field(default_factory=list)
    forgotten: dict[str, int] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    dry_run: bool = False

    def lines(self) -> Iterator[str]:
        """Return a line for each thing that was done, would be done, or failed.

        >>> list(MaintenanceReport(dead_letters={"projects/p/subscriptions/s": 1}).lines())
        ['dead-letters: projects/p/subscriptions/s: 1 message forwarded']
        """
        would = "would be " if self.dry_run else ""
        for resource, count in self.written.items():
            yield f"tables: {resource}: {counted(count, 'message')} {would}written"
        for resource, count in self.dead_letters.items():
            yield f"dead-letters: {resource}: {counted(count, 'message')} {would}forwarded"
        for resource in self.expired:
            yield f"expiration: {resource}: {would}deleted"
        for resource, count in self.discarded.items():
            kept = _kept(self.kept_from.get(resource))
            yield f"retention: {resource}: {counted(count, 'message')} {would}deleted; {kept}"
        for resource, count in self.optimized.items():
            if count:
                yield f"optimize: {resource}: {counted(count, 'small file')} replaced"
        for resource in self.vacuumed:
            yield f"vacuum: {resource}: no unneeded files are left"
        for resource, count in self.forgotten.items():
            yield f"log-retention: {resource}: {counted(count, 'commit')} {would}forgotten"
        for resource, why in self.problems.items():
            yield f"not done: {resource}: {' '.join(why.split())}"


def _kept(time: datetime | None) -> str:
    return "none is needed" if time is None else f"needed from {time:%Y-%m-%d %H:%M} UTC on"


def checked_log_retention(asked: Duration | None) -> timedelta | None:
    """Return how long the commits of topics are to be kept; InvalidArgument out of range."""
    return None if asked is None else parse_duration_within(asked, "log_retention", *_LOG_RETENTION)


def maintain(tables: Tables, clock: Callable[[], datetime], duties: Duties) -> MaintenanceReport:
    """Do the duties for all subscriptions and topics; a failure is reported, and stops no other.

    It is safe to run late, twice, and concurrently with publishers, consumers and itself.
    """
    report = MaintenanceReport(dry_run=duties.dry_run)
    try:
        tables.check_created()
    except NotFound as absent:
        with _reporting(report, tables.layout.base):
            raise absent
        return report
    if duties.tables:
        _write_tables(tables, clock, report)
    now = clock()
    if duties.dead_letters:
        _forward_all(tables, now, report)
    if duties.expiration:
        _expire(tables, now, report)
    if duties.retention or duties.optimize or duties.vacuum:
        _maintain_topics(tables, now, duties, report)
    if duties.log_retention is not None:
        _forget_commits(tables, clock, duties.log_retention, report)
    return report


def _write_tables(tables: Tables, clock: Callable[[], datetime], report: MaintenanceReport) -> None:
    for subscription in tables.registry.subscriptions_to("table_name"):
        if subscription.detached:
            continue
        with _reporting(report, subscription.name):
            try:
                count, problem = _write_table(tables, subscription, clock, dry_run=report.dry_run)
            except (NotFound, FailedPrecondition):
                source = still_attached(tables, subscription)
                if source is not None and source.subscription.table_config is not None:
                    raise
                continue
            if count:
                report.written[subscription.name] = count
            if problem:
                _tell(report, subscription.name, problem)


def _write_table(
    tables: Tables, subscription: Subscription, clock: Callable[[], datetime], *, dry_run: bool
) -> tuple[int, str]:
    """Return how many messages were written to a table, or would be, and why others were not."""
    name = subscription_name(subscription.name, "")
    if not dry_run:
        done = table_subscriptions.write_messages(tables, name, clock)
        return done.written, done.problem
    asking = source_of(tables, *tables.attached(name))
    state = asking.catch_up(tables.ack_states.read(asking.uid), clock())
    problem = table_writes.table_state(tables, subscription)[1]
    return 0 if problem else state.count(State.AVAILABLE, State.WRITING), problem


def _forward_all(tables: Tables, now: datetime, report: MaintenanceReport) -> None:
    for subscription, _ in tables.registry.sources():
        if subscription.detached:
            continue
        with _reporting(report, subscription.name):
            source = still_attached(tables, subscription)
            if source is None:
                continue
            if report.dry_run:
                state = tables.ack_states.read(source.uid)
                decided, problem = _decide_forwarding(tables, source, state, now)
                count = sum(map(len, decided.in_state(State.FORWARDING)))
                done = dead_letters.Forwarded(count, problem)
            else:
                done = _forward(tables, source, now)
            if done.count:
                report.dead_letters[subscription.name] = done.count
            if done.problem:
                _tell(report, subscription.name, done.problem)


def _decide_forwarding(
    tables: Tables, source: Source, state: AckState, now: datetime
) -> tuple[AckState, str | None]:
    # without a policy, a forwarding of an earlier one may be under way
    if source.subscription.dead_letter_policy is not None:
        state = source.catch_up(state, now)
    return dead_letters.decide_forwarding(tables, source, state)


def _forward(tables: Tables, source: Source, now: datetime) -> dead_letters.Forwarded:
    """Forward the messages of a subscription whose last attempt has failed by now."""

    def decide(state: AckState) -> tuple[AckState, dead_letters.Forwarded | None]:
        decided, problem = _decide_forwarding(tables, source, state, now)
        if not decided.in_state(State.FORWARDING):
            return state, dead_letters.Forwarded(0, problem)
        return decided, None

    done = tables.ack_states.change(source.uid, decide)
    return done if done is not None else dead_letters.forward(tables, source, now)


def _expire(tables: Tables, now: datetime, report: MaintenanceReport) -> None:
    """Delete the subscriptions that were idle for longer than their ttl, and expired snapshots."""
    registry = tables.registry
    begun = registry.expirations.begun()
    for subscription, since in (*begun, *((each, None) for each, _ in registry.sources())):
        with _reporting(report, subscription.name):
            if report.dry_run:
                expires = expiration.is_idle(tables, since or now, subscription)
            elif since is None:
                expires = expiration.expire(tables, subscription, now)
            else:
                expires = expiration.resume(tables, subscription, since, now)
            if expires:
                report.expired.append(subscription.name)
    for snapshot in (*registry.expired_snapshots(now), *registry.abandoned_snapshots(now)):
        with _reporting(report, snapshot.name):
            gone = report.dry_run or registry.remove_expired_snapshot(snapshot.uid, now)
            if gone and registry.snapshot(snapshot.name, now) is None:  # a later one may have it
                report.expired.append(snapshot.name)


def _maintain_topics(
    tables: Tables, now: datetime, duties: Duties, report: MaintenanceReport
) -> None:
    for kept in stored_topics(tables):
        messages = tables.messages(kept.topic.uid)
        if duties.retention:
            with _reporting(report, kept.name):
                done = discard(
                    tables,
                    kept,
                    now,
                    exact=duties.exact,
                    dry_run=duties.dry_run,
                    after_expiration=duties.expiration,
                )
                before = report.kept_from.get(kept.name)
                times = [time for time in (before, done.kept_from) if time is not None]
                report.kept_from[kept.name] = min(times, default=None)
                if done.count:
                    _add(report.discarded, kept.name, done.count)
                if done.problem:
                    _tell(report, kept.name, done.problem)
        if duties.optimize and not duties.dry_run:
            with _reporting(report, kept.name):
                _add(report.optimized, kept.name, messages.optimize())
        if duties.vacuum and not duties.dry_run:
            with _reporting(report, kept.name):
                messages.vacuum()
                if kept.name not in report.vacuumed:
                    report.vacuumed.append(kept.name)
    if duties.vacuum and not duties.dry_run:
        for each, _ in tables.registry.sources():
            with _reporting(report, f"ack state {each.uid}"):
                tables.ack_state_tables.vacuum(each.uid)
        with _reporting(report, "registry"):
            tables.registry.vacuum()


def _add(counts: dict[str, int], name: str, count: int) -> None:
    """Add a count: several deleted topics can have had one name."""
    counts[name] = counts.get(name, 0) + count


def _forget_commits(
    tables: Tables, clock: Callable[[], datetime], keep: timedelta, report: MaintenanceReport
) -> None:
    for topic in tables.registry.topics(""):
        with _reporting(report, topic.name):
            if forgotten := forget_commits(tables, topic, keep, clock, dry_run=report.dry_run):
                report.forgotten[topic.name] = forgotten


@contextmanager
def _reporting(report: MaintenanceReport, name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        text = _CALLING.sub("", str(error)).lstrip().removeprefix(f"{name}: ")
        _tell(report, name, with_class(error, text))


def _tell(report: MaintenanceReport, name: str, why: str) -> None:
    """Add a problem of a resource to those that it has."""
    told = report.problems.get(name, "")
    report.problems[name] = told if why in told else f"{told}; {why}".removeprefix("; ")
