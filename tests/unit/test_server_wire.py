"""Resources and requests as google.pubsub.v1 writes them, and errors with their details."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("grpc")
from google.protobuf.field_mask_pb2 import FieldMask
from google.pubsub_v1.types import pubsub
from google.rpc import error_details_pb2

from pubsub_delta.errors import (
    Aborted,
    AlreadyExists,
    DataLoss,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PubSubError,
    Unimplemented,
    Unknown,
)
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    Message,
    ReceivedMessage,
    RetryPolicy,
    Snapshot,
    Topic,
)
from pubsub_delta.server import update_masks, wire
from pubsub_delta.server.ack_failures import INVALID_ACK_ID, OF_OTHERS, TRANSIENT
from pubsub_delta.server.security import Security
from pubsub_delta.server.status import AckIdFailure, status_of
from pubsub_delta.table_config import TableConfig, TableState
from tests.unit.builders import PLAIN, START

DAY = timedelta(days=1)


def asked(kind: str, **fields: Any) -> Any:
    return getattr(pubsub, kind).pb(getattr(pubsub, kind)(**fields))


def test_a_subscription_is_written_as_google_does() -> None:
    subscription = replace(
        PLAIN,
        filter="attributes:key",
        dead_letter_policy=DeadLetterPolicy("projects/p/topics/dead", 7),
        retry_policy=RetryPolicy("5s", "1m"),
        expiration_policy=ExpirationPolicy(None),
        labels={"a": "b"},
    )
    message = pubsub.Subscription.wrap(wire.subscription_message(subscription))
    assert message.name == PLAIN.name
    assert message.message_retention_duration == timedelta(days=7)
    assert message.dead_letter_policy.max_delivery_attempts == 7
    assert message.retry_policy.minimum_backoff == timedelta(seconds=5)
    assert "expiration_policy" in message  # there, and empty: it never expires
    assert "ttl" not in message.expiration_policy
    assert message.state == pubsub.Subscription.State.ACTIVE


def test_what_is_written_is_read_back() -> None:
    given = asked(
        "Subscription",
        name=PLAIN.name,
        topic=PLAIN.topic,
        ack_deadline_seconds=20,
        expiration_policy={"ttl": 10 * DAY},
        dead_letter_policy={"dead_letter_topic": "projects/p/topics/dead"},
        retry_policy={"maximum_backoff": timedelta(seconds=30)},
        push_config={},
    )
    fields = wire.subscription_fields(given)
    assert fields["expiration_policy"] == ExpirationPolicy(10 * DAY)
    assert fields["dead_letter_policy"] == DeadLetterPolicy("projects/p/topics/dead", 5)
    assert fields["retry_policy"] == RetryPolicy("10s", "30s")
    assert "message_retention_duration" not in fields
    assert not fields["enable_message_ordering"]


def test_an_absent_expiration_policy_is_the_default_and_an_empty_one_means_never() -> None:
    assert wire.subscription_fields(asked("Subscription"))["expiration_policy"] is None
    never = wire.subscription_fields(asked("Subscription", expiration_policy={}))
    assert never["expiration_policy"] == ExpirationPolicy(None)
    # "The minimum allowed value for expiration_policy.ttl is 1 day": none is refused, not for ever
    zero = wire.subscription_fields(asked("Subscription", expiration_policy={"ttl": 0 * DAY}))
    assert zero["expiration_policy"] == ExpirationPolicy(0 * DAY)


@pytest.mark.parametrize(
    ("kind", "fields", "name"),
    [
        (
            "Subscription",
            {"bigquery_config": {"table": "t", "service_account_email": "a@b"}},
            "bigquery_config.service_account_email",
        ),
        ("Subscription", {"bigtable_config": {"table": "t"}}, "bigtable_config"),
        ("Subscription", {"message_transforms": [{"disabled": True}]}, "message_transforms"),
        ("Subscription", {"cloud_storage_config": {"bucket": "b"}}, "cloud_storage_config"),
        ("Subscription", {"tags": {"123/a": "b"}}, "tags"),
        ("Topic", {"tags": {"123/a": "b"}}, "tags"),
        ("Topic", {"kms_key_name": "k"}, "kms_key_name"),
        (
            "Topic",
            {"message_storage_policy": {"allowed_persistence_regions": ["europe-west3"]}},
            "message_storage_policy",
        ),
        (
            "Topic",
            {"ingestion_data_source_settings": {"aws_kinesis": {"stream_arn": "s"}}},
            "ingestion_data_source_settings",
        ),
    ],
)
def test_what_the_store_has_no_field_for_is_refused(
    kind: str, fields: dict[str, Any], name: str
) -> None:
    read = wire.topic_fields if kind == "Topic" else wire.subscription_fields
    with pytest.raises(Unimplemented, match=name) as refused:
        read(asked(kind, **fields))
    assert "is not supported" not in str(refused.value), "why it would do nothing is told"
    assert "leave it out" in str(refused.value)


def test_an_empty_field_says_nothing_and_is_not_refused() -> None:
    # clients and tools write fields that were left out so
    empty: dict[str, Any] = {"message_storage_policy": {}, "ingestion_data_source_settings": {}}
    assert wire.topic_fields(asked("Topic", **empty)) == wire.topic_fields(asked("Topic"))
    read = wire.subscription_fields(asked("Subscription", bigquery_config={}))
    assert read == wire.subscription_fields(asked("Subscription"))


def changed(paths: list[str], **fields: Any) -> wire.Fields:
    present = wire.subscription_message(
        replace(PLAIN, dead_letter_policy=DeadLetterPolicy("projects/p/topics/dead", 7))
    )
    return update_masks.changed_fields(
        asked("Subscription", **fields), FieldMask(paths=paths), present, wire.SUBSCRIPTION_FIELDS
    )


def test_an_update_changes_what_the_mask_names_and_nothing_else() -> None:
    fields = changed(["labels"], labels={"a": "b"}, ack_deadline_seconds=99)
    assert fields == {"labels": {"a": "b"}}


def test_labels_that_an_update_leaves_out_are_gone() -> None:
    # "labels": as every field, a map that the mask names is replaced as a whole
    present = wire.subscription_message(replace(PLAIN, labels={"a": "b", "c": "d"}))
    request = asked("Subscription", labels={"c": "e"})
    mask = FieldMask(paths=["labels"])
    fields = update_masks.changed_fields(request, mask, present, wire.SUBSCRIPTION_FIELDS)
    assert fields == {"labels": {"c": "e"}}


def test_a_mask_that_names_a_label_leaves_the_others() -> None:
    # AIP-161: "labels.key" and "labels.`a key`" are paths to values of a map.
    present = wire.subscription_message(replace(PLAIN, labels={"a": "1", "b": "1", "c.d": "1"}))
    request = asked("Subscription", labels={"a": "", "e": "2", "f": "2"})
    mask = FieldMask(paths=["labels.a", "labels.`c.d`", "labels.f", "labels.absent"])
    fields = update_masks.changed_fields(request, mask, present, wire.SUBSCRIPTION_FIELDS)
    assert fields == {"labels": {"a": "", "b": "1", "f": "2"}}


def test_labels_whose_keys_differ_in_case_are_two() -> None:
    """A mask names a label by its key, letter by letter: keys are any characters."""
    present = wire.subscription_message(replace(PLAIN, labels={"team": "1", "Team": "1"}))
    request = asked("Subscription", labels={"team": "2", "Team": "3"})
    for path, labels in (
        ("labels.Team", {"team": "1", "Team": "3"}),
        ("labels.`Team`", {"team": "1", "Team": "3"}),
        ("labels.team", {"team": "2", "Team": "1"}),
    ):
        mask = FieldMask(paths=[path])
        fields = update_masks.changed_fields(request, mask, present, wire.SUBSCRIPTION_FIELDS)
        assert fields == {"labels": labels}


def test_a_field_that_the_mask_names_and_the_request_leaves_out_is_cleared() -> None:
    assert changed(["dead_letter_policy", "labels"]) == {"dead_letter_policy": None, "labels": {}}


def test_a_path_into_a_field_leaves_the_rest_of_it() -> None:
    fields = changed(
        ["dead_letter_policy.max_delivery_attempts"],
        dead_letter_policy={"max_delivery_attempts": 9},
    )
    assert fields == {"dead_letter_policy": DeadLetterPolicy("projects/p/topics/dead", 9)}


@pytest.mark.parametrize(
    "paths",
    [
        [],
        ["nonsense"],
        ["labels.a.b"],
        ["labels."],
        ["retry_policy."],
        ["retry_policy.nonsense"],
        ["labels", "push_config.oidc_token.nonsense"],
        ["expiration_policy.ttl.seconds.nonsense"],
    ],
)
def test_a_mask_that_names_no_field_is_refused(paths: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="update_mask"):
        changed(paths, labels={"a": "b"})


def test_an_update_may_say_that_a_subscription_is_pulled_from() -> None:
    assert changed(["push_config"]) == {"push_config": None}
    assert changed(["push_config.push_endpoint"]) == {"push_config": None}


def test_a_topic_keeps_its_retention() -> None:
    topic = Topic("projects/p/topics/t", DAY, START, {}, START, "0" * 32)
    assert wire.topic_fields(wire.topic_message(topic))["message_retention_duration"] == DAY
    kept = replace(topic, message_retention_duration=None)
    assert not wire.topic_message(kept).HasField("message_retention_duration")


def test_messages_come_and_go_unchanged() -> None:
    message = Message(b"\x00\xff", {"k": "v"}, "key")
    request = asked(
        "PublishRequest",
        messages=[{"data": message.data, "attributes": message.attributes, "ordering_key": "key"}],
    )
    assert wire.published_messages(request) == [message]
    at = START + timedelta(microseconds=1_234_567)
    received = ReceivedMessage(
        "ack", "7", at, message.data, message.attributes, message.ordering_key, 3
    )
    sent = pubsub.ReceivedMessage.wrap(wire.received_message(received))
    assert (sent.ack_id, sent.delivery_attempt) == ("ack", 3)
    assert (sent.message.data, dict(sent.message.attributes)) == (message.data, {"k": "v"})
    assert sent.message.publish_time == at
    assert (sent.message.message_id, sent.message.ordering_key) == ("7", "key")


@pytest.mark.parametrize("seconds", [2**62, -(2**62)])
def test_times_beyond_all_bounds_are_refused(seconds: int) -> None:
    with pytest.raises(InvalidArgument):
        wire.time_of(asked("SeekRequest", time={"seconds": seconds}).time)


@pytest.mark.parametrize("name", ["local", "projects/", "projects/a/b", ""])
def test_a_project_is_named_in_full(name: str) -> None:
    if name != "projects/":
        with pytest.raises(InvalidArgument, match="project"):
            wire.project_of(name)
    with pytest.raises(InvalidArgument, match="topic"):
        wire.full_name("flights", "topic")


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (InvalidArgument("x"), 3),
        (NotFound("x"), 5),
        (AlreadyExists("x"), 6),
        (FailedPrecondition("x"), 9),
        (Aborted("x"), 10),
        (Unimplemented("x"), 12),
        (DataLoss("x"), 15),
        (Unknown("x"), 2),
        (RuntimeError("x"), 13),
    ],
)
def test_errors_have_the_canonical_code(error: Exception, number: int) -> None:
    status = status_of(error)
    info = error_details_pb2.ErrorInfo()
    assert status.code == number
    assert status.details[0].Unpack(info)
    if isinstance(error, PubSubError):
        assert (info.reason, status.message) == (error.code, "x")


@pytest.mark.parametrize(
    ("reason", "of", "code"),
    [(INVALID_ACK_ID, ["id"], 3), (INVALID_ACK_ID, ["id", "good"], 3), (TRANSIENT, ["id"], 10)],
)
def test_failed_ack_ids_are_told_one_by_one(reason: str, of: list[str], code: int) -> None:
    # "exactly-once failures INVALID_ARGUMENT with EXACTLY_ONCE_ACKID_FAILURE"; what has succeeded
    # beside them is marked as to be tried again
    status = status_of(AckIdFailure({"id": reason}, of=of))
    info = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(info)
    assert (info.reason, dict(info.metadata)) == (
        "EXACTLY_ONCE_ACKID_FAILURE",
        {"id": reason} | {each: OF_OTHERS for each in of if each != "id"},
    )
    assert status.code == code


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "example.com", "[::]"])
def test_a_public_address_is_refused_unless_protected_or_forced(host: str) -> None:
    # "binding to a public address without them is refused unless forced"
    with pytest.raises(FailedPrecondition, match="insecure"):
        Security().check(host)
    with pytest.raises(FailedPrecondition):
        Security(token="secret").check(host)
    Security(insecure=True).check(host)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_a_loopback_address_is_always_accepted(host: str) -> None:
    Security().check(host)


@pytest.mark.parametrize("token", ["", "two\nlines"])
def test_a_token_is_printable_text(token: str) -> None:
    with pytest.raises(InvalidArgument, match="token"):
        Security(token=token).check("localhost")


def test_fractions_of_a_second_are_written_in_nanoseconds() -> None:
    """Protobuf: "Signed fractions of a second at nanosecond resolution"."""
    half, moment = timedelta(milliseconds=1_500), START + timedelta(milliseconds=250)
    written = wire.subscription_message(replace(PLAIN, retry_policy=RetryPolicy(half, "1m")))
    backoff = written.retry_policy.minimum_backoff
    assert (backoff.seconds, backoff.nanos) == (1, 500_000_000)
    snapshot = Snapshot("projects/p/snapshots/s", "projects/p/topics/t", moment, {}, START, "u")
    assert wire.snapshot_message(snapshot).expire_time.nanos == 250_000_000
    received = ReceivedMessage("ack id", "0", moment, b"a", {}, "", None)
    assert wire.received_message(received).message.publish_time.nanos == 250_000_000


@pytest.mark.parametrize("policy", [("0s", "0s"), ("0s", "600s"), ("10s", "600s")])
def test_a_backoff_of_zero_is_not_one_that_was_left_out(policy: tuple[str, str]) -> None:
    """google.pubsub.v1: "between 0 and 600 seconds. Defaults to 10 seconds"."""
    asked_for = RetryPolicy(*policy)
    written = wire.subscription_message(replace(PLAIN, retry_policy=asked_for))
    assert wire.subscription_fields(written)["retry_policy"] == asked_for
    given = {
        "minimum_backoff": asked_for.minimum_backoff,
        "maximum_backoff": asked_for.maximum_backoff,
    }
    assert changed(["retry_policy"], retry_policy=given) == {"retry_policy": asked_for}


def test_every_field_of_a_subscription_is_written_and_read_back() -> None:
    full = replace(
        PLAIN,
        ack_deadline_seconds=20,
        retain_acked_messages=True,
        message_retention_duration=timedelta(days=2, milliseconds=5),
        labels={"a": "b"},
        enable_message_ordering=True,
        expiration_policy=ExpirationPolicy(10 * DAY),
        filter="attributes:key",
        dead_letter_policy=DeadLetterPolicy("projects/p/topics/dead", 7),
        retry_policy=RetryPolicy("1s", "2m"),
        enable_exactly_once_delivery=True,
    )
    fields = wire.subscription_fields(wire.subscription_message(full))
    assert len(fields) == len(wire.SUBSCRIPTION_FIELDS)
    assert fields == {name: getattr(full, name) for name in fields}


@pytest.mark.parametrize("state", [*TableState, None, "STATE_UNSPECIFIED", 99])
def test_the_state_of_a_table_is_read_back_and_one_that_nobody_knows_is_none(state: Any) -> None:
    """Another server may have states that this client has not."""
    if isinstance(state, TableState):
        stored = replace(PLAIN, table_config=TableConfig("p.d.t", state=state))
        message = wire.subscription_message(stored)
    else:
        config = {"table": "p.d.t", **({} if state is None else {"state": state})}
        message = asked("Subscription", name=PLAIN.name, bigquery_config=config)
    expected = state if isinstance(state, TableState) else None
    assert wire.state_of(message.bigquery_config) == expected
