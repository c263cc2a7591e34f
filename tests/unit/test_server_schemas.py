"""Schemas over gRPC, as Google's Python client asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("grpc")
pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")
import grpc
from google.api_core import exceptions
from google.protobuf.field_mask_pb2 import FieldMask
from google.pubsub_v1 import SchemaServiceClient
from google.pubsub_v1.services.schema_service.transports import SchemaServiceGrpcTransport
from google.pubsub_v1.types import Encoding, Schema

from tests.unit.schema_cases import (
    AVRO,
    AVRO_INCOMPATIBLE,
    AVRO_WITH_AREA,
    NO_STATE,
    OHIO,
    PROTO,
    STATES,
    UTAH,
)
from tests.unit.serving import LONG, clients, publish
from tests.unit.serving_world import WorldBackend, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

PROJECT = "projects/local"
FLIGHTS = f"{PROJECT}/topics/flights"
BASIC, FULL = 1, 2


@dataclass
class Clients:
    schemas: Any
    publisher: Any
    subscriber: Any

    def create(self, definition: str = AVRO, type_: Any = Schema.Type.AVRO) -> Any:
        schema = Schema(name="", type_=type_, definition=definition)
        asked = {"parent": PROJECT, "schema": schema, "schema_id": "states"}
        return self.schemas.create_schema(request=asked, timeout=LONG)

    def commit(self, definition: str = AVRO_WITH_AREA) -> Any:
        schema = Schema(name=STATES, type_=Schema.Type.AVRO, definition=definition)
        return self.schemas.commit_schema(name=STATES, schema=schema, timeout=LONG)

    def topic(self, encoding: Any = Encoding.JSON, **more: str) -> Any:
        settings = {"schema": STATES, "encoding": encoding, **more}
        asked = {"name": FLIGHTS, "schema_settings": settings}
        return self.publisher.create_topic(request=asked, timeout=LONG)

    def publish(self, *data: bytes, **attributes: str) -> None:
        messages = [{"data": each, "attributes": attributes} for each in data]
        publish(self.publisher, {"topic": FLIGHTS, "messages": messages})


@pytest.fixture
def google() -> Iterator[Clients]:
    """Google's clients of a server on a store in memory."""
    with served(WorldBackend()) as address, clients(address) as (publisher, subscriber):
        channel = grpc.insecure_channel(address)
        schemas = SchemaServiceClient(transport=SchemaServiceGrpcTransport(channel=channel))
        yield Clients(schemas, publisher, subscriber)
        channel.close()


def test_a_schema_is_created_found_and_deleted(google: Clients) -> None:
    assert list(google.schemas.list_schemas(parent=PROJECT, timeout=LONG)) == []
    made = google.create()
    assert (made.name, made.type_, made.definition) == (STATES, Schema.Type.AVRO, AVRO)
    assert len(made.revision_id) == 8
    assert made.revision_create_time is not None
    assert google.schemas.get_schema(name=STATES, timeout=LONG) == made
    with pytest.raises(exceptions.AlreadyExists):
        google.create()
    google.schemas.delete_schema(name=STATES, timeout=LONG)
    with pytest.raises(exceptions.NotFound, match=f"schema {STATES} does not exist"):
        google.schemas.get_schema(name=STATES, timeout=LONG)


def test_views_are_with_a_definition_or_without(google: Clients) -> None:
    """`SchemaView`: GetSchema gives all unless BASIC is asked for, listings the other way round."""
    google.create()
    get = {view: {"name": STATES, "view": view} for view in (0, BASIC, FULL)}
    told = {v: google.schemas.get_schema(request=r, timeout=LONG) for v, r in get.items()}
    assert [bool(told[view].definition) for view in (0, BASIC, FULL)] == [True, False, True]
    for view, wanted in ((0, ""), (FULL, AVRO)):
        asked = {"parent": PROJECT, "view": view}
        (listed,) = google.schemas.list_schemas(request=asked, timeout=LONG)
        assert (listed.name, listed.type_, listed.definition) == (
            STATES,
            Schema.Type.AVRO,
            wanted,
        )
    for view, wanted in ((0, ""), (BASIC, ""), (FULL, AVRO)):
        asked = {"name": STATES, "view": view}
        (revision,) = google.schemas.list_schema_revisions(request=asked, timeout=LONG)
        assert revision.definition == wanted


def test_a_listing_with_definitions_comes_in_pages_that_clients_accept(google: Clients) -> None:
    """ "The Python library takes no response above 4 MiB from an emulator. Responses are kept
    below that", also with 20 revisions of the longest definitions."""
    longest = AVRO.replace('"record"', f'"record", "doc": "{"x" * 290_000}"', 1)
    made = [google.create(longest)]
    while len(made) < 20:
        revision = made[-1].revision_id
        made.append(google.schemas.rollback_schema(name=STATES, revision_id=revision, timeout=LONG))
    asked = {"name": STATES, "view": FULL}
    pager = google.schemas.list_schema_revisions(request=asked, timeout=LONG)
    assert list(pager) == made[::-1]
    for n in range(15):
        schema = {"type_": Schema.Type.AVRO, "definition": longest}
        more = {"parent": PROJECT, "schema": schema, "schema_id": f"more-{n:02}"}
        google.schemas.create_schema(request=more, timeout=LONG)
    asked = {"parent": PROJECT, "view": FULL}
    pager = google.schemas.list_schemas(request=asked, timeout=LONG)
    sizes = [len(page.schemas) for page in pager.pages]
    assert sizes == [10, 6]


def test_a_revision_has_the_type_of_its_schema(google: Clients) -> None:
    """Pub/Sub: the type of a schema is that of its first revision."""
    google.create()
    schema = Schema(name=STATES, type_=Schema.Type.PROTOCOL_BUFFER, definition=AVRO)
    with pytest.raises(exceptions.InvalidArgument):
        google.schemas.commit_schema(name=STATES, schema=schema, timeout=LONG)


def test_revisions_are_committed_listed_rolled_back_and_deleted(google: Clients) -> None:
    """The samples `commit_avro_schema`, `list_schema_revisions`, `rollback_schema_revision`, ..."""
    first, second = google.create(), google.commit()
    third = google.schemas.rollback_schema(name=STATES, revision_id=first.revision_id, timeout=LONG)
    assert third.definition == AVRO

    def listed() -> list[str]:
        asked = {"name": STATES, "page_size": 2}
        pager = google.schemas.list_schema_revisions(request=asked, timeout=LONG)
        return [each.revision_id for each in pager]

    assert listed() == [third.revision_id, second.revision_id, first.revision_id]
    named = f"{STATES}@{first.revision_id}"
    assert google.schemas.get_schema(name=named, timeout=LONG) == first
    deleted = google.schemas.delete_schema_revision(
        request={"name": named, "revision_id": first.revision_id}, timeout=LONG
    )
    assert deleted == first
    google.schemas.delete_schema_revision(name=STATES, revision_id=second.revision_id, timeout=LONG)
    assert listed() == [third.revision_id]
    with pytest.raises(exceptions.FailedPrecondition, match="the only one"):
        google.schemas.delete_schema_revision(name=f"{STATES}@{third.revision_id}", timeout=LONG)


def test_an_incompatible_revision_is_invalid(google: Clients) -> None:
    google.create()
    with pytest.raises(exceptions.InvalidArgument, match="incompatible with the previous"):
        google.commit(AVRO_INCOMPATIBLE)


def test_definitions_and_messages_are_validated(google: Clients) -> None:
    google.create()
    schema = Schema(name="x", type_=Schema.Type.PROTOCOL_BUFFER, definition=PROTO)
    google.schemas.validate_schema(parent=PROJECT, schema=schema, timeout=LONG)

    def validate(**more: Any) -> None:
        asked = {"parent": PROJECT, "message": UTAH, "encoding": Encoding.JSON, **more}
        google.schemas.validate_message(request=asked, timeout=LONG)

    validate(name=STATES)
    validate(schema=schema)
    with pytest.raises(exceptions.InvalidArgument, match="does not fit"):
        validate(name=STATES, message=NO_STATE)
    with pytest.raises(exceptions.InvalidArgument, match="schema_spec"):
        validate()
    with pytest.raises(exceptions.InvalidArgument, match="'UNSPECIFIED' is not an encoding"):
        validate(name=STATES, encoding=0)
    with pytest.raises(exceptions.InvalidArgument, match="'UNSPECIFIED' is not a type"):
        google.schemas.validate_schema(parent=PROJECT, schema=Schema(definition=AVRO), timeout=LONG)


def test_a_compiled_schema_is_unimplemented_by_name(google: Clients) -> None:
    schema = Schema(type_=Schema.Type.PROTOCOL_BUFFER, compiled_proto_schema={"root_message": "M"})
    with pytest.raises(exceptions.MethodNotImplemented, match="compiled_proto_schema"):
        google.schemas.create_schema(
            parent=PROJECT, schema=schema, schema_id="states", timeout=LONG
        )


def test_a_topic_has_its_settings_on_the_wire(google: Clients) -> None:
    """The samples `create_topic_with_schema_revisions` and `update_topic_schema`."""
    first, second = google.create(), google.commit()
    made = google.topic(first_revision_id=first.revision_id, last_revision_id=first.revision_id)
    assert google.publisher.get_topic(topic=FLIGHTS, timeout=LONG) == made
    assert made.schema_settings.schema == STATES
    assert made.schema_settings.encoding == Encoding.JSON
    wanted = {"schema": STATES, "last_revision_id": second.revision_id}
    mask = FieldMask(paths=["schema_settings.last_revision_id"])
    asked = {"topic": {"name": FLIGHTS, "schema_settings": wanted}, "update_mask": mask}
    changed = google.publisher.update_topic(request=asked, timeout=LONG).schema_settings
    assert (changed.first_revision_id, changed.last_revision_id, changed.encoding) == (
        first.revision_id,
        second.revision_id,
        Encoding.JSON,
    )
    asked = {"topic": {"name": FLIGHTS}, "update_mask": FieldMask(paths=["schema_settings"])}
    cleared = google.publisher.update_topic(request=asked, timeout=LONG)
    assert "schema_settings" not in cleared


def test_a_topic_without_an_encoding_or_with_an_absent_schema_is_refused(google: Clients) -> None:
    with pytest.raises(exceptions.NotFound, match="states does not exist"):
        google.topic()
    google.create()
    with pytest.raises(exceptions.InvalidArgument, match="encoding: 'UNSPECIFIED'"):
        google.topic(encoding=0)


def test_messages_of_such_a_topic_are_checked_and_told_their_revision(google: Clients) -> None:
    """The samples `publish_avro_records` and `subscribe_with_avro_schema_with_revisions`."""
    first = google.create()
    google.topic()
    subscription = f"{PROJECT}/subscriptions/delays"
    google.subscriber.create_subscription(name=subscription, topic=FLIGHTS, timeout=LONG)
    with pytest.raises(exceptions.InvalidArgument, match=r"messages.1..data: it does not fit"):
        google.publish(UTAH, NO_STATE)
    with pytest.raises(exceptions.InvalidArgument, match="'goog'"):
        google.publish(UTAH, googclient_schemaencoding="JSON")
    second = google.commit()
    google.publish(UTAH, OHIO)
    pulled = google.subscriber.pull(subscription=subscription, max_messages=5, timeout=LONG)
    found = {each.message.data: dict(each.message.attributes) for each in pulled.received_messages}
    names = {UTAH: first.revision_id, OHIO: second.revision_id}
    assert found == {
        data: {
            "googclient_schemaname": STATES,
            "googclient_schemaencoding": "JSON",
            "googclient_schemarevisionid": revision_id,
        }
        for data, revision_id in names.items()
    }


def test_a_request_that_does_not_fit_fails_no_other_one(google: Clients) -> None:
    """Requests of many clients share a commit, and each is answered for itself."""
    google.create()
    google.topic()

    def outcome(data: bytes) -> str:
        try:
            google.publish(data)
        except exceptions.InvalidArgument:
            return "refused"
        return "published"

    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(outcome, [UTAH, UTAH, NO_STATE] * 8))
    assert found == ["published", "published", "refused"] * 8


def test_a_topic_of_a_deleted_schema_says_so(google: Clients) -> None:
    google.create()
    google.topic()
    google.schemas.delete_schema(name=STATES, timeout=LONG)
    settings = google.publisher.get_topic(topic=FLIGHTS, timeout=LONG).schema_settings
    assert settings.schema == "_deleted-schema_"
    with pytest.raises(exceptions.FailedPrecondition, match="was deleted"):
        google.publish(UTAH)
