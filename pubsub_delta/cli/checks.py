"""The checks of ``pubsub-delta doctor``: each returns findings, with advice for problems.

A check leases and writes nothing. If it fails, that is a finding, and the other checks go on.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pubsub_delta import __version__
from pubsub_delta.errors import FailedPrecondition, NotFound, PubSubError, counted
from pubsub_delta.names import DELETED_TOPIC
from pubsub_delta.resources import Snapshot, Subscription, Topic
from pubsub_delta.session import check_pair
from pubsub_delta.tables.layout import Layout

if TYPE_CHECKING:
    from pubsub_delta.cli.service import Service
    from pubsub_delta.client import PubSub

R = TypeVar("R", Topic, Subscription, Snapshot)

_ABSENT = "(not installed)"

State = Literal["ok", "warning", "problem"]

MOST = 200
"""The number of topics, of subscriptions and of snapshots that are checked."""
LOW_DISK_BYTES = 1_000_000_000
"""Bytes; less free space is a warning."""
MAX_CLOCK_SKEW = timedelta(minutes=1)
"""A commit that is further in the future is reported."""
RETENTION_WARNING = 0.9
"""The share of the retention at which the oldest message is a warning."""


Check = Callable[["PubSub", datetime], Iterator["Finding"]]
"""Checks all resources of a kind, at a time."""


@dataclass(frozen=True)
class Finding:
    """A result of a check. ``advice``: a sentence, or a command to type."""

    check: str
    state: State
    found: str
    advice: str = ""


def versions() -> Finding:
    """Return the versions of the library and its dependencies."""
    detail = ", ".join(f"{name} {_version(name)}" for name in ("deltalake", "pyarrow", "click"))
    python = platform.python_version()
    return Finding("versions", "ok", f"pubsub_delta {__version__}, Python {python}, {detail}")


def spark(environment: Mapping[str, str], *, needed: bool) -> Finding:
    """Check whether Spark could be started, without a JVM."""
    pair, java = (_version("pyspark"), _version("delta-spark")), None
    found = f"pyspark {pair[0]}, delta-spark {pair[1]}"
    if _ABSENT not in pair:
        try:
            check_pair(*pair)
        except FailedPrecondition as error:
            return Finding(
                "spark", "problem" if needed else "warning", f"{found}: no pair", str(error)
            )
    home = environment.get("JAVA_HOME")
    if home and Path(home, "bin/java").exists():
        java = f"{_java_version(Path(home))} in {home}"
    elif (path := shutil.which("java", path=environment.get("PATH"))) is not None:
        java = f"{_java_version(Path(path).resolve().parent.parent)} by {path}"
    if java is not None:
        return Finding("spark", "ok", f"{found}, {java}")
    advice = "Java 17 or 21 is needed for that: install it, or set JAVA_HOME"
    if needed:
        return Finding("spark", "problem", f"{found}, and no Java, without which it ends", advice)
    found += "; no Java, which only DataFrames, streaming queries and catalogs need"
    return Finding("spark", "ok", found)


def storage(layout: Layout) -> Finding:
    """Check whether the directory of the store exists, is writable, and has free space."""
    root = layout.local_directory()
    if root is None:
        kind = "a catalog schema" if layout.in_catalog else "object storage"
        return Finding("storage", "ok", f"{layout.base} is {kind}")
    if not os.path.exists(root):
        return Finding(
            "storage",
            "warning",
            f"{root} does not exist",
            "the first `pubsub-delta topics create` makes it; --root names another one",
        )
    if not os.path.isdir(root):
        return Finding(
            "storage", "problem", f"{root} is not a directory", "--root names another one"
        )
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        return Finding(
            "storage",
            "problem",
            f"{root} cannot be read and written by this user",
            f"whoever owns it can permit that: ls -ld {root}",
        )
    free = shutil.disk_usage(root).free
    detail = f"{root} may be written, and {free / 1e9:,.1f} GB are free"
    if free < LOW_DISK_BYTES:
        advice = "`pubsub-delta maintain --duties=retention,vacuum` frees what nobody needs"
        return Finding("storage", "warning", detail, advice)
    return Finding("storage", "ok", detail)


def locks(layout: Layout) -> Finding:
    """Check which tables are locked now."""
    root = layout.local_directory()
    folder = Path(root, "_locks") if root is not None else None
    if folder is None or not folder.is_dir():
        return Finding("locks", "ok", "none are needed" if folder is None else "there are none yet")
    held = sorted(path for path in folder.glob("*.lock") if _is_held(path))
    if not held:
        return Finding("locks", "ok", "nobody holds one")
    named = ", ".join(path.stem for path in held)
    return Finding(
        "locks",
        "warning",
        f"held now: {named}",
        f"usual while somebody writes; `fuser {held[0]}` tells which process it is",
    )


def _is_held(path: Path) -> bool:
    from filelock import FileLock, Timeout

    lock = FileLock(path, is_singleton=False)
    try:
        with lock.acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # of another user
        return False


def resources(service: Service) -> Iterator[Finding]:
    """Count the resources; if that fails, no other check can succeed."""
    counts = []
    for kind in ("topics", "subscriptions", "snapshots"):
        page = getattr(service, f"list_{kind}")()
        more = "more than " if page.next_page_token else ""
        counts.append(f"{more}{counted(len(list(page)), kind.removesuffix('s'))}")
    yield Finding("resources", "ok", ", ".join(counts))


def topics(store: PubSub, now: datetime) -> Iterator[Finding]:
    """Check the newest commit of every topic."""

    def of_one(topic: Topic) -> Iterator[Finding]:
        found = store.topic_history(topic.name, 1)
        ahead = found[0].time - now if found else timedelta(0)
        if ahead > MAX_CLOCK_SKEW:
            yield Finding(
                f"topic {_short(topic.name)}",
                "warning",
                f"its last commit is {_age(ahead)} in the future",
                "the clocks of its writers and this one differ: set them right",
            )

    return _of_each("topic", list(store.list_topics()), of_one)


def subscriptions(store: PubSub, _: datetime) -> Iterator[Finding]:
    """Check the ack state and the policies of every subscription."""

    def of_one(each: Subscription) -> Iterator[Finding]:
        name = f"subscription {_short(each.name)}"
        if each.detached:
            advice = f"`pubsub-delta subscriptions delete {_short(each.name)}` forgets it"
            yield Finding(name, "warning", "it is detached, and has no messages any more", advice)
            return
        found = store.metrics(each.name)
        yield from _policies(store, each, name)
        age = float(found["oldest_unacked_message_age"])
        yield from _retention(each, name, age, found["num_undelivered_messages"])

    return _of_each("subscription", list(store.list_subscriptions()), of_one)


def _policies(store: PubSub, each: Subscription, name: str) -> Iterator[Finding]:
    if each.topic == DELETED_TOPIC:
        yield Finding(
            name,
            "warning",
            "its topic was deleted: it keeps its backlog, and nothing new comes",
            f"when it is empty, `pubsub-delta subscriptions delete {_short(each.name)}`",
        )
    policy = each.dead_letter_policy
    if policy is not None:
        target = policy.dead_letter_topic
        try:
            store.get_topic(target)
        except NotFound:
            yield Finding(
                name,
                "problem",
                f"its dead-letter topic {target} does not exist: what fails too often stays here",
                f"`pubsub-delta topics create {target}`, or `pubsub-delta subscriptions update "
                f"{_short(each.name)} --clear-dead-letter-policy`",
            )
        except PubSubError as error:
            yield _finding_of(name, error)


def _retention(each: Subscription, name: str, age: float, count: int) -> Iterator[Finding]:
    kept = max(
        each.message_retention_duration, each.topic_message_retention_duration or timedelta(0)
    )
    if count and age > RETENTION_WARNING * kept.total_seconds():
        yield Finding(
            name,
            "warning",
            f"its oldest message is {_age(timedelta(seconds=age))} old, and disappears "
            f"unacknowledged at {_age(kept)}",
            f"`pubsub-delta subscriptions update {_short(each.name)} "
            "--message-retention-duration=31d`, or more consumers",
        )


def snapshots(store: PubSub, now: datetime) -> Iterator[Finding]:
    """Check the metrics of every snapshot."""

    def of_one(each: Snapshot) -> Iterator[Finding]:
        store.metrics(each.name)
        if each.expire_time - now < timedelta(hours=1):
            yield Finding(
                f"snapshot {_short(each.name)}",
                "warning",
                f"it expires in {_age(each.expire_time - now)}, and nobody can seek to it any more",
                "seek is refused within the last hour; take another snapshot",
            )

    return _of_each("snapshot", list(store.list_snapshots()), of_one)


def _of_each(
    kind: str, every: Sequence[R], of_one: Callable[[R], Iterator[Finding]]
) -> Iterator[Finding]:
    """Yield the findings of the first ``MOST`` resources, and how many of them can be read."""
    sound = 0
    for each in every[:MOST]:
        try:
            yield from of_one(each)
        except PubSubError as error:
            yield _finding_of(f"{kind} {_short(each.name)}", error)
        else:
            sound += 1
    yield _all_of(f"{kind}s", sound, len(every))


def _finding_of(name: str, error: PubSubError) -> Finding:
    detail = " ".join(str(error).split())
    advice = f"docs/errors/{error.code.lower().replace('_', '-')}.md tells more"
    return Finding(name, "problem", f"{error.code}: {detail}", advice)


def failed(check: str, error: Exception) -> Finding:
    """Return the finding of a check that failed."""
    detail = " ".join(str(error).split()) or type(error).__name__
    return Finding(check, "problem", f"{getattr(error, 'code', type(error).__name__)}: {detail}")


def _all_of(kind: str, sound: int, count: int) -> Finding:
    checked = min(count, MOST)
    state: State = "ok" if sound == checked else "problem"
    of = f" of the first {checked:,} of {count:,}" if count > checked else f" of {count:,}"
    detail = f"{sound:,}{of} can be read" if count else "there are none"
    return Finding(kind, state, detail)


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _age(span: timedelta) -> str:
    """Write a span in its largest unit.

    >>> _age(timedelta(days=6.6)), _age(timedelta(minutes=5)), _age(timedelta(seconds=4))
    ('6.6 days', '5.0 minutes', '4.0 seconds')
    """
    seconds = span.total_seconds()
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return _ABSENT


def _java_version(home: Path) -> str:
    """Return the version of a Java from the file ``release`` in its home."""
    try:
        lines: Iterable[str] = (home / "release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "Java"
    detail = next(
        (line.partition("=")[2] for line in lines if line.startswith("JAVA_VERSION=")), ""
    )
    return f"Java {detail.strip(chr(34))}".rstrip()
