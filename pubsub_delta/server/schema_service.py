"""google.pubsub.v1.SchemaService on a store."""

from __future__ import annotations

from functools import partial
from typing import Any

from google.protobuf.empty_pb2 import Empty

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.server import schema_wire, wire
from pubsub_delta.server.grpc_services import message_class
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.publisher_service import listed
from pubsub_delta.server.schema_wire import BASIC, schema_message

_Schemas = message_class("ListSchemasResponse")
_Revisions = message_class("ListSchemaRevisionsResponse")
_ValidSchema = message_class("ValidateSchemaResponse")
_ValidMessage = message_class("ValidateMessageResponse")


class SchemaService:
    """Schemas and their revisions."""

    def __init__(self, hub: Hub) -> None:
        self._admin = hub.backend.administration
        self._do = hub.backend.administer

    async def create_schema(self, request: Any, _: Any) -> Any:
        """Create a schema."""
        project = wire.project_of(request.parent)
        name = wire.full_name(f"projects/{project}/schemas/{request.schema_id}", "schema")
        type_, definition = schema_wire.definition_of(request.schema)
        made = await self._do(self._admin.create_schema, name, type_, definition)
        return schema_message(made)

    async def get_schema(self, request: Any, _: Any) -> Any:
        """Return a revision of a schema: all of it, unless the request asks for a part."""
        name = wire.full_name(request.name, "schema")
        found = await self._do(self._admin.get_schema, name)
        return schema_message(found, BASIC if request.view == BASIC else schema_wire.FULL)

    async def list_schemas(self, request: Any, _: Any) -> Any:
        """List the schemas of a project."""
        project = wire.project_of(request.parent)
        fetch = partial(self._do, self._admin.list_schemas, project=project)
        shown = partial(schema_wire.listed_schema, view=request.view)
        schemas, token = await listed(fetch, shown, request)
        return _Schemas(schemas=schemas, next_page_token=token)

    async def list_schema_revisions(self, request: Any, _: Any) -> Any:
        """List the revisions of a schema, the newest first."""
        name = wire.full_name(request.name, "schema")
        fetch = partial(self._do, self._admin.list_schema_revisions, name)
        view = schema_wire.FULL if request.view == schema_wire.FULL else BASIC
        revisions, token = await listed(fetch, partial(schema_message, view=view), request)
        return _Revisions(schemas=revisions, next_page_token=token)

    async def commit_schema(self, request: Any, _: Any) -> Any:
        """Add a revision to a schema."""
        name = wire.full_name(request.name, "schema")
        type_, definition = schema_wire.definition_of(request.schema)
        made = await self._do(self._admin.commit_schema, name, definition, type_)
        return schema_message(made)

    async def rollback_schema(self, request: Any, _: Any) -> Any:
        """Add a revision with the definition of an earlier one."""
        name = wire.full_name(request.name, "schema")
        made = await self._do(self._admin.rollback_schema, name, request.revision_id)
        return schema_message(made)

    async def delete_schema_revision(self, request: Any, _: Any) -> Any:
        """Delete a revision. Its id is in the name, or in the deprecated field."""
        name = wire.full_name(request.name, "schema")
        if "@" not in name and request.revision_id:
            name = f"{name}@{request.revision_id}"
        return schema_message(await self._do(self._admin.delete_schema_revision, name))

    async def delete_schema(self, request: Any, _: Any) -> Any:
        """Delete a schema with its revisions."""
        name = wire.full_name(request.name, "schema")
        await self._do(self._admin.delete_schema, name)
        return Empty()

    async def validate_schema(self, request: Any, _: Any) -> Any:
        """Check that a definition is accepted."""
        wire.project_of(request.parent)
        given = schema_wire.definition_of(request.schema)
        await self._do(self._admin.validate_schema, *given)
        return _ValidSchema()

    async def validate_message(self, request: Any, _: Any) -> Any:
        """Check that a message fits a schema, or a definition."""
        wire.project_of(request.parent)
        encoding = schema_wire.encoding_name(request.encoding)
        validate = partial(self._admin.validate_message, request.message, encoding)
        spec = request.WhichOneof("schema_spec")
        if spec == "name":
            await self._do(validate, wire.full_name(request.name, "schema"))
        elif spec == "schema":
            type_, definition = schema_wire.definition_of(request.schema)
            await self._do(validate, type=type_, definition=definition)
        else:
            raise InvalidArgument("schema_spec: neither a name nor a schema; one is accepted")
        return _ValidMessage()
