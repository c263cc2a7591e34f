"""Schemas over gRPC: told to be absent, as the official client understands it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("grpc")
import grpc
from google.api_core import exceptions
from google.pubsub_v1 import SchemaServiceClient
from google.pubsub_v1.services.schema_service.transports import SchemaServiceGrpcTransport

from tests.unit.serving import LONG, MemoryStore, serving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SCHEMA = "projects/local/schemas/orders"


@pytest.fixture
def schemas() -> Iterator[Any]:
    with serving(MemoryStore()) as address:
        channel = grpc.insecure_channel(address)
        yield SchemaServiceClient(transport=SchemaServiceGrpcTransport(channel=channel))
        channel.close()


def test_a_project_has_no_schemas(schemas: Any) -> None:
    """`SchemaService.ListSchemas`: there are none."""
    assert list(schemas.list_schemas(parent="projects/local", timeout=LONG)) == []


@pytest.mark.parametrize("method", ["get_schema", "list_schema_revisions", "delete_schema"])
def test_a_schema_that_is_named_does_not_exist(schemas: Any, method: str) -> None:
    """`GetSchema`, `ListSchemaRevisions`, `DeleteSchema`: NOT_FOUND."""
    with pytest.raises(exceptions.NotFound, match=f"schema {SCHEMA} does not exist"):
        getattr(schemas, method)(name=SCHEMA, timeout=LONG)


def test_creating_a_schema_is_unimplemented(schemas: Any) -> None:
    """The other methods of `SchemaService`: UNIMPLEMENTED."""
    with pytest.raises(exceptions.MethodNotImplemented, match="schemas are not supported"):
        schemas.create_schema(parent="projects/local", schema_id="orders", timeout=LONG)
