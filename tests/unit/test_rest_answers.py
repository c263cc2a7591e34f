"""Responses in JSON: their fields, the part of them that a client wants, and errors."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("grpc")
from google.api_core import exceptions
from google.pubsub_v1.types import pubsub
from google.rpc import code_pb2, error_details_pb2, status_pb2

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server.rest import parameters, transcoding
from pubsub_delta.server.rest.selection import selected, selection
from tests.unit.serving_world import WorldBackend, served
from tests.unit.test_server_rest import ask

TOPIC = "projects/local/topics/flights"


def test_answers_name_fields_in_camel_case_and_leave_empty_ones_out() -> None:
    response = pubsub.PullResponse(
        received_messages=[
            {
                "ack_id": "a",
                "message": {
                    "data": b"\xff\xef",
                    "message_id": "7",
                    "publish_time": {"seconds": 1_767_225_600, "nanos": 1_000_000},
                },
            }
        ]
    )
    written = transcoding.response_of(type(response).pb(response), enums_as_numbers=False)
    message = {"data": "/+8=", "messageId": "7", "publishTime": "2026-01-01T00:00:00.001Z"}
    assert written == {"receivedMessages": [{"ackId": "a", "message": message}]}


def test_enums_are_names_or_numbers_as_the_client_wants() -> None:
    """Google's Python library sends ``$alt=json;enum-encoding=int``."""
    message = pubsub.Topic.pb(pubsub.Topic(name=TOPIC, state="ACTIVE"))
    for query, state in (("", "ACTIVE"), ("$alt=json%3Benum-encoding%3Dint", 1)):
        told = parameters.parsed(query)
        written = transcoding.response_of(message, enums_as_numbers=told.enums_as_numbers)
        assert written["state"] == state


def test_errors_are_a_google_rpc_status() -> None:
    status = status_pb2.Status(code=5, message="subscription x does not exist")
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason="NOT_FOUND", domain="d"))
    assert transcoding.error_of(status, "NOT_FOUND") == {
        "error": {
            "code": 404,
            "message": "subscription x does not exist",
            "status": "NOT_FOUND",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "NOT_FOUND",
                    "domain": "d",
                }
            ],
        }
    }


@pytest.mark.parametrize("code", code_pb2.Code.keys())
def test_the_codes_of_http_are_those_that_googles_clients_know(code: str) -> None:
    """google/rpc/code.proto gives each canonical code one of HTTP."""
    http = transcoding.HTTP_CODES[code]
    if code in ("OK", "UNKNOWN", "DATA_LOSS"):
        assert http == (200 if code == "OK" else 500)
        return
    known = exceptions.from_grpc_status(code_pb2.Code.Value(code), "")
    assert known.code == http


def test_json_is_written_for_people_unless_the_client_says_otherwise() -> None:
    assert transcoding.text_of({"name": "ü"}, pretty=True) == '{\n  "name": "ü"\n}\n'.encode()
    assert transcoding.text_of({"name": [1]}, pretty=False) == b'{"name":[1]}'
    assert not parameters.parsed("prettyPrint=false").pretty


PULLED = {
    "receivedMessages": [
        {"ackId": "a", "message": {"data": "YQ==", "attributes": {"k": "v", "l": "w"}}},
        {"ackId": "b"},
    ]
}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("receivedMessages", PULLED),
        ("*", PULLED),
        ("*," * 492 + "receivedMessages", PULLED),  # as long as is taken
        ("receivedMessages/ackId,receivedMessages", PULLED),
        ("received_messages/ackId", {"receivedMessages": [{"ackId": "a"}, {"ackId": "b"}]}),
        (
            "receivedMessages/message/data",
            {"receivedMessages": [{"message": {"data": "YQ=="}}, {}]},
        ),
        (
            "receivedMessages(ackId,message/attributes/l)",
            {
                "receivedMessages": [
                    {"ackId": "a", "message": {"attributes": {"l": "w"}}},
                    {"ackId": "b"},
                ]
            },
        ),
        (
            "receivedMessages/*/data",
            {"receivedMessages": [{"ackId": "a", "message": {"data": "YQ=="}}, {"ackId": "b"}]},
        ),
        (
            "receivedMessages/ackId,receivedMessages/message/data",
            {"receivedMessages": [{"ackId": "a", "message": {"data": "YQ=="}}, {"ackId": "b"}]},
        ),
    ],
)
def test_a_part_of_an_answer_is_what_its_client_selects(text: str, part: Any) -> None:
    """Google's partial responses: the parameter ``fields``."""
    wanted = selection(text, pubsub.PullResponse.pb().DESCRIPTOR)
    assert selected(PULLED, wanted) == part


@pytest.mark.parametrize(
    "text",
    [
        *("nope", "receivedMessages/nope", "receivedMessages(", "receivedMessages)", "a b", ","),
        *("/", "", "*,", "receivedMessages/", "(" * 500, "*/" * 100 + "*", "received" * 200),
        "*," * 492 + "received_messages",
    ],
)
def test_a_part_that_an_answer_has_not_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="fields of the response are accepted") as refused:
        selection(text, pubsub.PullResponse.pb().DESCRIPTOR)
    assert len(str(refused.value)) < 300


FLIGHTS = "/v1/projects/local/topics/flights"


def test_an_error_that_nobody_expected_is_answered_in_json(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that gets no reply sends its request again, and again."""

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("nobody expected this")

    with served(WorldBackend()) as address:
        assert ask(address, "PUT", FLIGHTS)[0] == 200
        with monkeypatch.context() as patched:
            patched.setattr(transcoding, "response_of", broken)
            status, told = ask(address, "GET", FLIGHTS)
        assert (status, told["error"]["status"]) == (500, "INTERNAL")
        assert "failed unexpectedly" in caplog.text
        assert ask(address, "GET", FLIGHTS)[0] == 200


@pytest.mark.parametrize(
    "fields", ["topics(name", "topics(name))", "topics(", "topics()", "topics/", "topics(name,"]
)
def test_a_selection_that_is_not_whole_is_refused(fields: str) -> None:
    with served(WorldBackend()) as address:
        status, told = ask(address, "GET", f"/v1/projects/local/topics?fields={fields}")
    assert (status, told["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert "fields" in told["error"]["message"]
