"""What ``--format`` says and prints, as gcloud does (spec section 10)."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import sys
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from pubsub_delta.cli import rest
from pubsub_delta.cli.application import App
from pubsub_delta.cli.documents import yaml_text
from pubsub_delta.cli.formats import parse_format
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.printing import render
from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.metrics import Measured, Metrics
from pubsub_delta.names import ResourceName
from pubsub_delta.resources import (
    DeadLetterPolicy,
    ExpirationPolicy,
    ReceivedMessage,
    RetryPolicy,
    Subscription,
    Topic,
)

TIME = datetime(2026, 11, 20, 10, tzinfo=timezone.utc)
TOPIC = {"name": "projects/p/topics/t", "messageRetentionDuration": "604800s"}
PULL_FORMAT = {
    "ackId": "A1",
    "message": {
        "data": base64.b64encode("späť".encode()).decode(),
        "attributes": {"lang": "en", "size": "7"},
        "messageId": "12",
    },
}


def subscription(**fields: Any) -> Subscription:
    given: dict[str, Any] = {
        "name": "projects/p/subscriptions/s",
        "topic": "projects/p/topics/t",
        "ack_deadline_seconds": 10,
        "message_retention_duration": timedelta(days=7),
        "retain_acked_messages": False,
        "expiration_policy": ExpirationPolicy(),
        "filter": "",
        "enable_message_ordering": False,
        "enable_exactly_once_delivery": False,
        "dead_letter_policy": None,
        "retry_policy": None,
        "labels": {},
        "detached": False,
        "topic_message_retention_duration": None,
        "create_time": TIME,
        "update_time": TIME + timedelta(days=1),
        "uid": "u",
    }
    return Subscription(**{**given, **fields})


def show(text: str, *records: Any, single: bool = False) -> str:
    return render(records, parse_format(text), single=single)


def test_describe_is_yaml_by_field_without_a_separator() -> None:
    assert show("yaml", TOPIC, single=True) == (
        "messageRetentionDuration: 604800s\nname: projects/p/topics/t\n"
    )


def test_a_listing_is_yaml_in_blocks() -> None:
    assert show("yaml", {"name": "a"}, {"name": "b"}) == "---\nname: a\n---\nname: b\n"
    assert show("yaml", "projects/p/subscriptions/s") == "---\n  projects/p/subscriptions/s\n"


def test_json_is_an_object_or_an_array() -> None:
    assert json.loads(show("json", TOPIC, single=True)) == TOPIC
    assert json.loads(show("json", TOPIC)) == [TOPIC]
    assert json.loads(show("json")) == []
    assert json.loads(show("json(message.messageId)", PULL_FORMAT)) == [
        {"message": {"messageId": "12"}}
    ]


def test_value_is_fields_with_tabs_and_no_heading() -> None:
    fields = "value(ackId, message.messageId, message.attributes.lang, message.none)"
    assert show(fields, PULL_FORMAT) == "A1\t12\ten\t\n"
    assert show("value[separator=';'](ackId,message.messageId)", PULL_FORMAT) == "A1;12\n"
    assert show("value(message.attributes)", PULL_FORMAT) == "lang=en;size=7\n"
    assert show("value(message.data.decode(base64))", PULL_FORMAT) == "späť\n"
    assert show("value(name.basename())", TOPIC) == "t\n"
    assert show("value(.)", "x") + show("value", "x") == "x\n" * 2


def test_csv_has_a_heading_and_quotes() -> None:
    awkward = {"name": 'a,"b"', "ackDeadlineSeconds": 10}
    assert show("csv(name,ackDeadlineSeconds)", awkward) == (
        'name,ack_deadline_seconds\n"a,""b""",10\n'
    )
    assert show("csv[no-heading](name)", TOPIC) == "projects/p/topics/t\n"
    assert show("csv", TOPIC).startswith("name,message_retention_duration\n")


def test_a_table_has_upper_case_headings() -> None:
    assert show("table(name.basename():label=TOPIC,messageRetentionDuration)", TOPIC) == (
        "TOPIC  MESSAGE_RETENTION_DURATION\nt      604800s\n"
    )


def test_a_boxed_table_is_as_wide_as_its_cells() -> None:
    drawn = show(
        "table[box](message.data.decode(base64),message.attributes.list(separator='\n'))",
        PULL_FORMAT,
    )
    assert drawn.splitlines() == [
        "┌──────┬────────────┐",
        "│ DATA │ ATTRIBUTES │",
        "├──────┼────────────┤",
        "│ späť │ lang=en    │",
        "│      │ size=7     │",
        "└──────┴────────────┘",
    ]
    assert "x" * 500 in show("table[box](ackId)", {"ackId": "x" * 500})


def test_data_cannot_steer_a_terminal() -> None:
    drawn = show("table[box,title='\x1b[1m'](data:label='\x1b]0;')", {"data": "a\x1b[2J\rb"})
    assert "\x1b" not in drawn
    assert "\r" not in drawn
    assert "a\\x1b[2J\\rb" in drawn


@pytest.mark.parametrize("decode", ["decode(base64)", "decode(base64).decode(utf-8)"])
def test_data_that_is_no_text_is_shown_escaped(decode: str) -> None:
    record = {"data": base64.b64encode(b"\xffok").decode()}
    for form in ("value", "csv[no-heading]", "table[no-heading]"):
        assert show(f"{form}(data.{decode})", record) == "\\xffok\n"
    assert json.loads(show(f"json(data.{decode})", record, single=True)) == {"data": "\\xffok"}
    assert show(f"value(data.{decode})", {"attributes": {}}) == "\n"  # gcloud decodes "None"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain text", "plain text"),
        ("604800s", "604800s"),
        ("12", "'12'"),
        ("1e3", "'1e3'"),
        ("true", "'true'"),
        ("", "''"),
        ("it's - #1: x", "'it''s - #1: x'"),
        ("no", "'no'"),  # YAML 1.1 takes it for false
        ("2026-11-20T10:00:00Z", "'2026-11-20T10:00:00Z'"),
        ('a\n"b"\\', '|-\n  a\n  "b"\\'),
        ("a\x1b\x9b\u202e\nb", '"a\\e\\x9B\\u202e\\nb"'),
        (True, "true"),
        (None, "null"),
        (0.5, "0.5"),
        ({}, "{}"),
        ([], "[]"),
        ({"a": [{"b": 1, "c": ["x"]}]}, "a:\n- b: 1\n  c:\n  - x"),
        ({"a": {"b": {"c": "d"}}}, "a:\n  b:\n    c: d"),
    ],
)
def test_yaml_quotes_what_would_be_something_else(value: object, written: str) -> None:
    assert yaml_text(value) == written + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "xml",
        "JSON",
        "(name)",
        "value(name",
        "value name",
        "value(name.nothing())",
        "value(name.segment(1,2,3))",
        "value(name.segment(x=1).y)",
        "value(a b)",
        "value(name,)",
        "value(name:color=red)",
        "value(name:sort)",
        "value(name:align=middle)",
        "value('name)",
        "table[box(name)",
    ],
)
def test_what_is_no_format_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="format: "):
        parse_format(text)


@pytest.mark.parametrize("text", ["object", "diff(name,topic)", "value(synthesize((a:b)))"])
def test_what_gcloud_has_and_this_has_not_is_refused_by_name(text: str) -> None:
    with pytest.raises(Unimplemented, match=r"of gcloud is not implemented"):
        parse_format(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("value(name", "it ends too early"),
        ("value(name,)", r"column 12 is not expected: '\)'"),
        ("table(a:label=X b)", "column 17 is not expected: 'b\\)'"),
    ],
)
def test_an_error_points_at_the_column(text: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        parse_format(text)


USUAL = "table[box](ackId:label=ACK,message.data.decode(base64),size:alias=s)"


def test_a_format_without_columns_takes_those_of_the_command() -> None:
    # gcloud refuses "value" and "table" where they have no columns
    for kind in ("value", "csv", "get", "table"):
        form = parse_format(kind, usual=USUAL)
        assert [each.heading for each in form.columns] == ["ACK", "DATA", "SIZE"]
    assert parse_format("table", usual=USUAL).attributes == {"box": ""}
    assert parse_format("csv", usual=USUAL).attributes == {}
    assert parse_format("json", usual=USUAL).columns == ()


def test_what_the_usual_format_says_of_a_key_holds_in_another_one() -> None:
    # gcloud topic projections: attributes and transforms of preceding projections are defaults
    record = {"ackId": "A1", "message": {"data": "bGF0ZQ=="}, "size": 3}

    def shown(text: str) -> str:
        return render([record], parse_format(text, usual=USUAL))

    assert shown("csv(ackId,message.data)") == "ack,data\nA1,late\n"
    assert shown("value(ACK,DATA,s)") == "A1\tlate\t3\n"
    assert shown("get(message.data)") == "bGF0ZQ==\n"
    assert json.loads(shown("json(message.data)")) == [{"message": {"data": "bGF0ZQ=="}}]


def test_a_topic_is_written_as_rest_does() -> None:
    topic = Topic("projects/p/topics/t", timedelta(days=7), TIME, {"env": "x"}, TIME, "u")
    assert rest.topic_record(topic) == {
        "name": "projects/p/topics/t",
        "labels": {"env": "x"},
        "messageRetentionDuration": "604800s",
        "state": "ACTIVE",
        "createTime": "2026-11-20T10:00:00Z",
    }


def test_a_subscription_is_written_without_its_empty_fields() -> None:
    # Google's server has an empty push_config and a state of each, and gcloud prints them.
    assert rest.subscription_record(subscription()) == {
        "name": "projects/p/subscriptions/s",
        "topic": "projects/p/topics/t",
        "ackDeadlineSeconds": 10,
        "messageRetentionDuration": "604800s",
        "expirationPolicy": {"ttl": "2678400s"},
        "pushConfig": {},
        "state": "ACTIVE",
        "createTime": "2026-11-20T10:00:00Z",
        "updateTime": "2026-11-21T10:00:00Z",
    }


def test_policies_of_a_subscription_are_nested() -> None:
    record = rest.subscription_record(
        subscription(
            retain_acked_messages=True,
            expiration_policy=ExpirationPolicy(ttl=None),
            dead_letter_policy=DeadLetterPolicy("projects/p/topics/dead", 7),
            retry_policy=RetryPolicy("0s", "0.5s"),
        )
    )
    assert record["retainAckedMessages"] is True
    assert record["expirationPolicy"] == {}  # never
    assert record["deadLetterPolicy"] == {
        "deadLetterTopic": "projects/p/topics/dead",
        "maxDeliveryAttempts": 7,
    }
    assert record["retryPolicy"] == {"minimumBackoff": "0s", "maximumBackoff": "0.5s"}


def test_a_delivery_has_its_message_within_and_data_in_base64() -> None:
    received = ReceivedMessage("A1", "12", TIME, b"\x00\xff", {"k": "v"}, "", None)
    assert rest.received_record(received) == {
        "ackId": "A1",
        "message": {
            "data": "AP8=",
            "attributes": {"k": "v"},
            "messageId": "12",
            "publishTime": "2026-11-20T10:00:00Z",
        },
    }


def test_metrics_tell_which_of_them_are_estimates() -> None:
    of = ResourceName("local", "topics", "flights")
    sure, guess = Measured(3), Measured(750, is_estimate=True)
    metrics = Metrics("topic", of, {}, TIME, {"message_count": sure, "byte_cost": guess})
    told = {"message_count": 3, "byte_cost": 750, "estimates": ["byte_cost"]}
    assert rest.metrics_record(metrics) == told
    assert rest.metrics_record(Metrics("topic", of, {}, TIME, {"message_count": sure})) == {
        "message_count": 3
    }


HOSTILE = "a\x1b[2J\x9b2J\x7f\x07\r\u202eb"


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
@pytest.mark.parametrize("form", ["value(data)", "csv(data)", "table(data)", "json", "yaml"])
def test_no_data_steers_a_terminal(
    form: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, inner = pty.openpty()
    with os.fdopen(inner, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        app = App(environment=environment)
        app.global_options = {"format": form}
        app.show_all([{"data": f"{HOSTILE}\tc\nd"}])
        monkeypatch.undo()
    told = os.read(shown, 65536).decode()
    if not environment:
        told = re.sub(r"\x1b\[(?:0|1|2|36)m", "", told)  # the colors of headings and keys
    os.close(shown)
    assert "a" in told
    assert [each for each in told if not each.isprintable() and each not in "\r\n\t"] == []
    assert re.sub(r"\r\n", "", told).count("\r") == 0


@pytest.mark.parametrize("form", ["value(data)", "csv[no-heading](data)"])
def test_what_is_not_shown_on_a_terminal_is_raw(
    form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    # a program that reads the output gets the data, as gcloud writes them
    app = App(environment={})
    app.global_options = {"format": form}
    app.show_all([{"data": "a\x1b[2J\x9b"}])
    assert capfd.readouterr().out == "a\x1b[2J\x9b\n"


def test_json_with_control_characters_is_json_wherever_it_is_shown() -> None:
    text = render([{"data": HOSTILE}], parse_format("json"))
    assert json.loads(text) == [{"data": HOSTILE}]
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-20T10:00:00.5+05:30", "2026-11-20T10:00:00.500+05:30"),
        ("2026-11-20 10:00:00 -0300", "2026-11-20T10:00:00.000-03:00"),
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000+00:00"),
        ("2026-11-20T10:00:00", "2026-11-20T10:00:00.000+09:00"),
        ("soon", "T"),
    ],
)
def test_a_time_is_shown_in_the_zone_that_it_names(text: str, shown: str) -> None:
    # gcloud topic projections: "the explicit timezone in the resource if it has one"
    context = Context(zone=timezone(timedelta(hours=9)))
    assert render([{"t": text}], parse_format("value(t.iso())", context)) == f"{shown}\n"


NESTED = 'table(id:sort=1:reverse,policy:format="table(topic,attempts)")'


def test_what_is_nested_stands_under_its_own_row_however_rows_are_sorted() -> None:
    records = [{"id": "a", "policy": {"topic": "t", "attempts": 5}}, {"id": "b"}]
    shown = render(records, parse_format(NESTED))
    assert shown.splitlines() == ["ID", "b", "a", "    TOPIC  ATTEMPTS", "    t      5"]


def test_a_nested_table_fits_a_terminal_with_its_indentation() -> None:
    records = [{"id": "a", "policy": {"topic": "t" * 30, "attempts": "5" * 30}}]
    lines = render(records, parse_format(NESTED), width=40).splitlines()
    assert max(map(len, lines)) == 40
    assert "".join(lines).count("5") == 30


def test_a_wrapped_column_gives_room_before_the_others_do() -> None:
    """gcloud: where a table is wider than the terminal, text of such a column goes over lines."""
    record = {"id": "i" * 20, "filter": "one two three four five six"}
    lines = render([record], parse_format("table(id,filter:wrap)"), width=34).splitlines()
    assert lines[1:] == [f"{'i' * 20}  one two", f"{'':22}three four", f"{'':22}five six"]


@pytest.mark.parametrize("text", ["table(a:wrap=x)", "table(a:format=)", "table(a:format=nosuch)"])
def test_what_is_no_setting_of_a_column_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="format: "):
        parse_format(text)
