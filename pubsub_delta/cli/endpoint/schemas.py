"""The methods of SchemaService on a server."""

from __future__ import annotations

from typing import Any

from pubsub_delta.cli.endpoint.methods import Caller, NameMethod, nothing
from pubsub_delta.cli.endpoint.resources import schema_of
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import check_project, schema_name
from pubsub_delta.policy.schemas.revisions import check_definition, check_encoding, check_type
from pubsub_delta.resources import Page
from pubsub_delta.schemas import Encoding, Schema, SchemaType
from pubsub_delta.server.grpc_services import message_class
from pubsub_delta.server.schema_wire import FULL, encoding_number, type_number

_Schema = message_class("Schema")


class EndpointSchemas(Caller):
    """The methods of ``SchemaService``. Names are full names, perhaps with a revision."""

    delete_schema_revision = NameMethod("name", schema_of)
    delete_schema = NameMethod("name", nothing)

    def create_schema(self, schema: str, type: SchemaType | str, definition: str) -> Schema:
        name = schema_name(schema, self.project)
        wanted, parent = _definition(type, definition), f"projects/{name.project}"
        made = self.call("CreateSchema", parent=parent, schema=wanted, schema_id=name.id)
        return schema_of(made)

    def get_schema(self, schema: str) -> Schema:
        return schema_of(self.call("GetSchema", name=schema, view=FULL))

    def list_schemas(
        self, *, project: str | None = None, page_token: str | None = None
    ) -> Page[Schema]:
        of = self.project if project is None else check_project(project)
        parent = f"projects/{of}"
        page = self.call("ListSchemas", parent=parent, view=FULL, page_token=page_token)
        return Page(map(schema_of, page.schemas), page.next_page_token)

    def list_schema_revisions(self, schema: str, *, page_token: str | None = None) -> Page[Schema]:
        page = self.call("ListSchemaRevisions", name=schema, view=FULL, page_token=page_token)
        return Page(map(schema_of, page.schemas), page.next_page_token)

    def commit_schema(
        self, schema: str, definition: str, type: SchemaType | str | None = None
    ) -> Schema:
        kind = self.get_schema(schema).type if type is None else type
        wanted = _definition(kind, definition)
        return schema_of(self.call("CommitSchema", name=schema, schema=wanted))

    def rollback_schema(self, schema: str, revision_id: str) -> Schema:
        return schema_of(self.call("RollbackSchema", name=schema, revision_id=revision_id))

    def validate_schema(self, type: SchemaType | str, definition: str) -> None:
        parent = f"projects/{self.project}"
        self.call("ValidateSchema", parent=parent, schema=_definition(type, definition))

    def validate_message(
        self,
        message: bytes | str,
        encoding: Encoding | str,
        schema: str | None = None,
        *,
        type: SchemaType | str | None = None,
        definition: str | None = None,
    ) -> None:
        if schema is None and (type is None or definition is None):
            raise InvalidArgument(
                "schema: either a schema, or a type and a definition, is accepted"
            )
        ad_hoc = None if type is None or definition is None else _definition(type, definition)
        self.call(
            "ValidateMessage",
            parent=f"projects/{self.project}",
            name=schema,
            schema=ad_hoc,
            message=message.encode() if isinstance(message, str) else message,
            encoding=encoding_number(check_encoding(encoding, "encoding")),
        )


def _definition(type_: SchemaType | str, definition: str) -> Any:
    return _Schema(type_=type_number(check_type(type_)), definition=check_definition(definition))
