"""Descriptors for methods of google.pubsub.v1 with the same form of request and response.

``EndpointClient`` declares such a method in one line. The attribute ``get_topic`` calls
``GetTopic``, and the class of the descriptor builds the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from google.protobuf.field_mask_pb2 import FieldMask

from pubsub_delta.cli.endpoint.connection import Connection
from pubsub_delta.names import check_project
from pubsub_delta.resources import Page
from pubsub_delta.server.grpc_services import SERVICES
from pubsub_delta.server.wire import STORED_AS

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Read = Callable[[Any], T]
"""Converts a protobuf message."""
Write = Callable[[str, Mapping[str, Any]], Any]
"""Returns a protobuf resource with a name and fields."""

_ON_THE_WIRE = {ours: theirs for theirs, ours in STORED_AS.items()}
_SERVICE_OF = {name: service for service, methods in SERVICES.items() for name in methods}


def method_of(verb: str) -> str:
    """Return the name of the RPC method of an attribute.

    >>> method_of("list_topic_subscriptions")
    'ListTopicSubscriptions'
    """
    return "".join(word.capitalize() for word in verb.split("_"))


class Caller:
    """Calls methods of a server.

    Args:
        connection: the connection to the server.
        project: the default project of listings.
    """

    def __init__(self, connection: Connection, project: str) -> None:
        self.connection = connection
        self.project = check_project(project)

    def send(self, method: str, request: Any) -> Any:
        """Call a method with a request message."""
        return self.connection.send(_SERVICE_OF[method], method, request)

    def call(self, method: str, /, **fields: Any) -> Any:
        """Call a method with the fields of a request; None leaves a field out."""
        return self.send(method, SERVICES[_SERVICE_OF[method]][method].request(**fields))


class _Method:
    method: str

    def __set_name__(self, _: type, name: str) -> None:
        self.method = method_of(name)


class NameMethod(_Method, Generic[T]):
    """A method whose request has the full name of one resource."""

    def __init__(self, field: str, read: Read[T]) -> None:
        self._field, self._read = field, read

    def __get__(self, client: Caller, _: type) -> Callable[[str], T]:
        return lambda name: self._read(client.call(self.method, **{self._field: name}))


def nothing(_: Any) -> None:
    """Drop an empty response."""


class _Creates(Protocol[T_co]):
    def __call__(self, name: str, /, **fields: Any) -> T_co: ...


class _Updates(Protocol[T_co]):
    def __call__(
        self, name: str, /, *, update_mask: Iterable[str] | None = None, **fields: Any
    ) -> T_co: ...


class CreateMethod(_Method, Generic[T]):
    """A method whose request is a resource."""

    def __init__(self, write: Write, read: Read[T]) -> None:
        self._write, self._read = write, read

    def __get__(self, client: Caller, _: type) -> _Creates[T]:
        def create(name: str, /, **fields: Any) -> T:
            return self._read(client.send(self.method, self._write(name, fields)))

        return create


class UpdateMethod(_Method, Generic[T]):
    """A method whose request has changed fields of a resource, and an update mask.

    The mask names the fields that are given, unless it is given itself: it may lead into a field.
    """

    def __init__(self, field: str, write: Write, read: Read[T]) -> None:
        self._field, self._write, self._read = field, write, read

    def __get__(self, client: Caller, _: type) -> _Updates[T]:
        def update(name: str, /, *, update_mask: Iterable[str] | None = None, **fields: Any) -> T:
            wanted = self._write(name, fields)
            paths = fields if update_mask is None else update_mask
            mask = FieldMask(paths=[_ON_THE_WIRE.get(each, each) for each in paths])
            return self._read(client.call(self.method, **{self._field: wanted}, update_mask=mask))

        return update


class _Pages(Protocol[T]):
    def __call__(self, *, project: str | None = None, page_token: str | None = None) -> Page[T]: ...


class ListMethod(_Method, Generic[T]):
    """A method that lists the resources of a project."""

    def __init__(self, field: str, read: Read[T]) -> None:
        self._field, self._read = field, read

    def __get__(self, client: Caller, _: type) -> _Pages[T]:
        def list_all(*, project: str | None = None, page_token: str | None = None) -> Page[T]:
            of = client.project if project is None else check_project(project)
            page = client.call(self.method, project=f"projects/{of}", page_token=page_token)
            found: Iterable[Any] = getattr(page, self._field)
            return Page(map(self._read, found), page.next_page_token)

        return list_all


class _NamesOf(Protocol):
    def __call__(self, name: str, /, *, page_token: str | None = None) -> Page[str]: ...


class ListNamesMethod(_Method):
    """A method that lists the names of resources that belong to a topic."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __get__(self, client: Caller, _: type) -> _NamesOf:
        def list_all(name: str, /, *, page_token: str | None = None) -> Page[str]:
            page = client.call(self.method, topic=name, page_token=page_token)
            return Page(getattr(page, self._field), page.next_page_token)

        return list_all
