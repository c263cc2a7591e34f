"""Create, find, list, change and delete topics and subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pubsub_delta.delivery import schemas, sources, table_writes
from pubsub_delta.errors import (
    AlreadyExists,
    FailedPrecondition,
    NotFound,
    Unknown,
    counted,
    first_line,
)
from pubsub_delta.names import ResourceName, topic_name
from pubsub_delta.policy import fields as rules
from pubsub_delta.policy import retention
from pubsub_delta.policy.ack_state import AckState
from pubsub_delta.policy.paging import page
from pubsub_delta.policy.preconditions import check_if_unchanged, check_unchanged
from pubsub_delta.resources import DeadLetterPolicy, Page, Subscription, Topic
from pubsub_delta.tables.store import Tables

_TERMS = {
    "dead_letter_policy",
    "retry_policy",
    "enable_exactly_once_delivery",
    "message_retention_duration",
    "retain_acked_messages",
}
"""Fields that decide the outcome of a lease that ends, or of an old message."""


def create_topic(tables: Tables, wanted: Topic, project: str, now: datetime) -> Topic:
    """Create a topic: first its empty table, then its row in the registry."""
    topic, schema_uid = rules.check_topic(wanted, project), None
    kept_from = None if topic.message_retention_duration is None else now
    topic = replace(topic, retained_from=kept_from, create_time=now, uid=tables.new_id())
    _must_be_free(tables.registry.topic(topic.name) is None, "topic", topic.name)
    if topic.schema_settings is not None:
        settings, schema_uid = schemas.resolve_settings(tables, topic.schema_settings, project)
        topic = replace(topic, schema_settings=settings)
    tables.messages(topic.uid).create()
    _must_be_free(tables.registry.add_topic(topic, schema_uid), "topic", topic.name)
    return topic


def create_subscription(
    tables: Tables, wanted: Subscription, project: str, now: datetime
) -> Subscription:
    """Create a subscription to the messages that are published to its topic from now on."""
    checked = rules.check_subscription(wanted, project)
    topic = tables.topic(topic_name(checked.topic, project))
    subscription = replace(checked, create_time=now, update_time=now, uid=tables.new_id())
    _check_dead_letter_topic(tables, subscription.dead_letter_policy)
    free = tables.registry.subscription(subscription.name) is None
    _must_be_free(free, "subscription", subscription.name)
    table_writes.check(tables, subscription)
    tail = tables.messages(topic.uid).history.version()
    tables.ack_states.create(subscription.uid, AckState(after_version=tail))
    added = tables.registry.add_subscription(subscription, topic.uid)
    if not added and tables.registry.subscription(subscription.name) is None:
        raise AlreadyExists(
            f"subscription {subscription.name} has expired, and is being deleted; try again, or "
            "run maintain first, which goes on where a job was killed"
        )
    _must_be_free(added, "subscription", subscription.name)
    _keep_dead_letter_topic(
        tables,
        subscription.dead_letter_policy,
        lambda: tables.registry.remove_subscription(subscription.uid),
    )
    return table_writes.with_state(
        tables,
        replace(subscription, topic_message_retention_duration=topic.message_retention_duration),
    )


def get_subscription(tables: Tables, name: ResourceName) -> Subscription:
    """Return a subscription, or raise NotFound naming it."""
    return table_writes.with_state(tables, tables.subscription(name))


def list_topics(
    tables: Tables, project: str, page_size: int | None, page_token: str | None
) -> Page[Topic]:
    """List the topics of a project by name."""
    found = tables.registry.topics(f"projects/{project}/")
    return page(found, page_size, page_token, f"projects/{project}/topics/")


def list_subscriptions(
    tables: Tables, project: str, page_size: int | None, page_token: str | None
) -> Page[Subscription]:
    """List the subscriptions of a project by name."""
    stored = tables.registry.subscriptions(f"projects/{project}/")
    found = page(stored, page_size, page_token, f"projects/{project}/subscriptions/")
    with_states = (table_writes.with_state(tables, each) for each in found)
    return Page(with_states, found.next_page_token)


def list_topic_subscriptions(
    tables: Tables, topic: ResourceName, page_size: int | None, page_token: str | None
) -> Page[str]:
    """List the names of the subscriptions attached to a topic."""
    named = tables.registry.subscriptions_of(tables.topic(topic))
    attached = [each for each in named if not each.detached]
    found = page(attached, page_size, page_token, "/subscriptions/")
    return Page((each.name for each in found), found.next_page_token)


def update_topic(
    tables: Tables,
    name: ResourceName,
    fields: Mapping[str, Any],
    project: str,
    now: datetime,
    if_unchanged: Topic | None,
) -> Topic:
    """Change the named fields of a topic; with ``if_unchanged`` only as it was read.

    Messages that its retention covers now stay covered, and discarded ones do not return.
    """
    wanted = check_if_unchanged(if_unchanged, Topic, str(name))
    changes = rules.check_topic_update(fields)
    changed = tables.topic(name)
    check_unchanged(changed, wanted)
    if not changes:
        return changed
    settings, shown = changes.get("schema_settings"), changed.schema_settings

    def decide(stored: Topic) -> Mapping[str, Any]:
        """Decide on the stored topic: other writers may have changed its retention since."""
        nonlocal changed
        following = dict(changes)
        if "message_retention_duration" in changes:
            duration = changes["message_retention_duration"]
            following["retained_from"] = retention.retained_from(stored, duration, now)
        of_schema: dict[str, Any] = {}
        if "schema_settings" in changes:
            of_schema = {"schema_settings": None, "schema_uid": None}
            if settings is not None:
                named, uid = schemas.resolve_settings(
                    tables, settings, project, stored.schema_settings
                )
                of_schema = {"schema_settings": named, "schema_uid": uid}
            following["schema_settings"] = of_schema["schema_settings"]
        # A row has the name of its schema, deleted or not; what was read tells which it is.
        changed = replace(stored, **{"schema_settings": shown, **following})
        return {**following, **of_schema}

    uid = changed.uid
    _must_be_there(tables.registry.change_topic(uid, decide, wanted), name)
    return changed


def update_subscription(
    tables: Tables,
    name: ResourceName,
    fields: Mapping[str, Any],
    project: str,
    now: datetime,
    if_unchanged: Subscription | None,
) -> Subscription:
    """Change the named fields of a subscription; with ``if_unchanged`` only as it was read.

    The ack state is first settled by the old terms: a lease that is over counts as an attempt only
    with a dead-letter policy, and messages that are too old stay gone even if the retention becomes
    longer. The next pull would settle it in the same way, so a concurrent change of the
    subscription does no harm.
    """
    wanted = check_if_unchanged(if_unchanged, Subscription, str(name))
    before = tables.subscription(name)
    check_unchanged(before, wanted)
    changes = rules.check_subscription_update(fields, before, project)
    if not changes:
        return table_writes.with_state(tables, before)
    policy = changes.get("dead_letter_policy")
    _check_dead_letter_topic(tables, policy)
    if "table_config" in changes:
        table_writes.check(tables, replace(before, table_config=changes["table_config"]))
    source = sources.still_attached(tables, before) if _TERMS & changes.keys() else None
    if source is not None:

        def settle(state: AckState) -> AckState:
            state = source.catch_up(state, now)
            is_clipped = "message_retention_duration" in changes
            return source.clip_retained(state, now) if is_clipped else state

        tables.ack_states.update(source.uid, settle)

    replaced, made = before, changes

    def decide(stored: Subscription) -> Mapping[str, Any]:
        """Check dependent fields again: other writers may have changed some of them since."""
        nonlocal replaced, made
        checked = rules.check_subscription_update(
            fields, replace(stored, topic=before.topic), project
        )
        replaced, made = stored, checked
        return {**checked, "update_time": now}

    changed = _change_subscription(tables, name, before.uid, decide, wanted)
    _keep_dead_letter_topic(tables, policy, lambda: _take_back(tables, replaced, made))
    return table_writes.with_state(tables, changed)


def detach_subscription(tables: Tables, name: ResourceName, now: datetime) -> None:
    """Detach a subscription from its topic for good, and drop its backlog."""
    uid = tables.subscription(name).uid
    _change_subscription(tables, name, uid, {"detached": True, "update_time": now})
    tables.ack_states.forget(uid)


class DeadLetterTopicInUse(FailedPrecondition):
    """A dead-letter topic cannot be deleted. ``users``: the subscriptions that name it."""

    topic: str = ""
    users: Sequence[str] = ()


def dead_letter_topic_in_use(
    topic: str, users: Sequence[str], hidden: int = 0
) -> DeadLetterTopicInUse:
    """Return the error of a deletion. ``hidden``: how many more users are not named."""
    named = [*users, f"{counted(hidden, 'subscription')} that you may not see"] if hidden else users
    error = DeadLetterTopicInUse(
        f"topic {topic} is the dead-letter topic of {', '.join(named)}; "
        "clear or change the dead_letter_policy there first"
    )
    error.topic, error.users = topic, users
    return error


def delete_topic(
    tables: Tables, name: ResourceName, now: datetime, if_unchanged: Topic | None
) -> None:
    """Delete a topic; its subscriptions keep their backlog under ``_deleted-topic_``.

    With ``if_unchanged`` only as it was read.
    """
    wanted = check_if_unchanged(if_unchanged, Topic, str(name))
    topic = tables.topic(name)

    def may_go() -> None:
        if wanted is not None:
            check_unchanged(tables.topic(name), wanted)
        users = [each.name for each in tables.registry.dead_lettering_to(topic)]
        if users:
            raise dead_letter_topic_in_use(str(name), sorted(users))

    _must_be_there(tables.registry.remove_topic(topic.uid, now, may_go), name)


def delete_subscription(
    tables: Tables, name: ResourceName, if_unchanged: Subscription | None
) -> None:
    """Delete a subscription and its backlog; with ``if_unchanged`` only as it was read."""
    wanted = check_if_unchanged(if_unchanged, Subscription, str(name))
    stored = tables.subscription(name)
    check_unchanged(stored, wanted)
    _must_be_there(tables.registry.remove_subscription(stored.uid, wanted), name)
    tables.ack_states.forget(stored.uid)


def _change_subscription(
    tables: Tables,
    name: ResourceName,
    uid: str,
    changes: Mapping[str, Any] | Callable[[Subscription], Mapping[str, Any]],
    if_unchanged: Subscription | None = None,
) -> Subscription:
    """Change fields of a subscription; NotFound if it was deleted, also right after the change."""
    changed = tables.registry.change_subscription(uid, changes, if_unchanged)
    found = tables.registry.subscription(str(name)) if changed else None
    _must_be_there(found is not None and found.uid == uid, name)
    assert found is not None
    return found


def _check_dead_letter_topic(tables: Tables, policy: DeadLetterPolicy | None) -> None:
    if policy is not None and tables.registry.topic(policy.dead_letter_topic) is None:
        raise _no_dead_letter_topic(policy)


def _keep_dead_letter_topic(
    tables: Tables, policy: DeadLetterPolicy | None, undo: Callable[[], object]
) -> None:
    """Protect a topic that has just become a dead-letter topic from a concurrent deletion.

    A deletion reads the topic's row, then looks for such subscriptions, and then replaces the row
    that it read. So this call writes the row: either the deletion fails and looks again, or it was
    faster, and the subscription does not get the topic. Nor does it where the row cannot be
    written. Unknown if the policy can neither be protected nor be taken back.
    """
    if policy is None:
        return
    try:
        topic = tables.registry.topic(policy.dead_letter_topic)
        if topic is None or not tables.registry.change_topic(topic.uid, {}):
            raise _no_dead_letter_topic(policy)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        try:
            undo()
        except Exception as failed:
            raise Unknown(
                "dead_letter_policy: it is stored, and could not be taken back "
                f"({first_line(failed)}) when it was not known whether its topic "
                f"{policy.dead_letter_topic} still exists; look whether it does"
            ) from error
        raise


def _take_back(tables: Tables, before: Subscription, made: Mapping[str, Any]) -> None:
    """Restore the fields of a subscription that still are as a change has made them."""

    def decide(stored: Subscription) -> Mapping[str, Any]:
        return {
            field: getattr(before, field)
            for field, value in made.items()
            if getattr(stored, field) == value
        }

    tables.registry.change_subscription(before.uid, decide)


def _no_dead_letter_topic(policy: DeadLetterPolicy) -> NotFound:
    return NotFound(
        f"dead_letter_policy.dead_letter_topic: {policy.dead_letter_topic} does not exist; "
        "create it first"
    )


def _must_be_there(changed: bool, name: ResourceName) -> None:
    if not changed:
        raise NotFound(f"{name} was deleted meanwhile; create it again")


def _must_be_free(free: bool, kind: str, name: str) -> None:
    if not free:
        raise AlreadyExists(f"{kind} {name} exists already; choose another name or delete it first")
