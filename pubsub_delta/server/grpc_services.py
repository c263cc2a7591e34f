"""The gRPC services of the server: their methods, requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pubsub_delta.errors import needing_extra

with needing_extra("server"):
    import grpc
    from google.iam.v1 import iam_policy_pb2, policy_pb2
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.message import DecodeError
    from google.pubsub_v1.types import pubsub, schema
    from grpc_health.v1 import health, health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha import reflection

__all__ = [
    "IAM_POLICY",
    "PUBLISHER",
    "SCHEMA_SERVICE",
    "SERVICES",
    "SERVING",
    "SUBSCRIBER",
    "Method",
    "add_health",
    "enable_reflection",
    "grpc",
    "handlers",
    "health",
    "message_class",
]

PUBLISHER = "google.pubsub.v1.Publisher"
SUBSCRIBER = "google.pubsub.v1.Subscriber"
SCHEMA_SERVICE = "google.pubsub.v1.SchemaService"
IAM_POLICY = "google.iam.v1.IAMPolicy"

STREAMING_PULL = "StreamingPull"

_PACKAGE = "google.pubsub.v1"
_FILE = "google/pubsub/v1/services.proto"


def message_class(name: str) -> Any:
    """Return the class of a protobuf message of google.pubsub.v1.

    It is the plain protobuf class; the proto-plus class around it is many times slower.
    """
    return getattr(pubsub if hasattr(pubsub, name) else schema, name).pb()


@dataclass(frozen=True)
class Method:
    """A method of a service: the classes of its request and its response."""

    request: Any
    response: Any
    streaming: bool = False


def _methods(**names: str) -> dict[str, Method]:
    """Return methods by name; their text is the request and the response, or the response alone."""
    found = {}
    for name, text in names.items():
        *given, response = text.split()
        request = given[0] if given else f"{name}Request"
        of_response = Empty if response == "Empty" else message_class(response)
        found[name] = Method(message_class(request), of_response, name == STREAMING_PULL)
    return found


SERVICES: Mapping[str, Mapping[str, Method]] = {
    PUBLISHER: _methods(
        CreateTopic="Topic Topic",
        UpdateTopic="Topic",
        Publish="PublishResponse",
        GetTopic="Topic",
        ListTopics="ListTopicsResponse",
        ListTopicSubscriptions="ListTopicSubscriptionsResponse",
        ListTopicSnapshots="ListTopicSnapshotsResponse",
        DeleteTopic="Empty",
        DetachSubscription="DetachSubscriptionResponse",
    ),
    SUBSCRIBER: _methods(
        CreateSubscription="Subscription Subscription",
        GetSubscription="Subscription",
        UpdateSubscription="Subscription",
        ListSubscriptions="ListSubscriptionsResponse",
        DeleteSubscription="Empty",
        ModifyAckDeadline="Empty",
        Acknowledge="Empty",
        Pull="PullResponse",
        StreamingPull="StreamingPullResponse",
        ModifyPushConfig="Empty",
        GetSnapshot="Snapshot",
        ListSnapshots="ListSnapshotsResponse",
        CreateSnapshot="Snapshot",
        UpdateSnapshot="Snapshot",
        DeleteSnapshot="Empty",
        Seek="SeekResponse",
    ),
    SCHEMA_SERVICE: _methods(
        CreateSchema="Schema",
        GetSchema="Schema",
        ListSchemas="ListSchemasResponse",
        ListSchemaRevisions="ListSchemaRevisionsResponse",
        CommitSchema="Schema",
        RollbackSchema="Schema",
        DeleteSchemaRevision="Schema",
        DeleteSchema="Empty",
        ValidateSchema="ValidateSchemaResponse",
        ValidateMessage="ValidateMessageResponse",
    ),
    IAM_POLICY: {
        "SetIamPolicy": Method(iam_policy_pb2.SetIamPolicyRequest, policy_pb2.Policy),
        "GetIamPolicy": Method(iam_policy_pb2.GetIamPolicyRequest, policy_pb2.Policy),
        "TestIamPermissions": Method(
            iam_policy_pb2.TestIamPermissionsRequest, iam_policy_pb2.TestIamPermissionsResponse
        ),
    },
}
"""All methods of the server, by service."""


LARGEST_REQUEST = 16 * 1024 * 1024
"""Bytes: 10 MB of messages with their encoding. Larger requests are refused."""


@dataclass(frozen=True)
class Unreadable:
    """A request that is too large, or is not a message of its type; ``why`` says it."""

    why: str


def _read(kind: Any, data: bytes) -> Any:
    """Return a request, or Unreadable: gRPC would answer an error here with INTERNAL."""
    if len(data) > LARGEST_REQUEST:
        return Unreadable(
            f"the request has {len(data):,} bytes; up to 10,000,000 bytes are accepted"
        )
    try:
        return kind.FromString(data)
    except DecodeError:
        return Unreadable(
            f"the request is not a {kind.DESCRIPTOR.full_name}; its protobuf encoding, with "
            "strings in UTF-8, is accepted"
        )


def handlers(service: str, wrapped_methods: Mapping[str, Any]) -> Any:
    """Return the generic handler of a service for gRPC."""
    of_methods = {}
    for name, method in SERVICES[service].items():
        make = (
            grpc.stream_stream_rpc_method_handler
            if method.streaming
            else grpc.unary_unary_rpc_method_handler
        )
        of_methods[name] = make(
            wrapped_methods[name],
            request_deserializer=partial(_read, method.request),
            response_serializer=method.response.SerializeToString,
        )
    return grpc.method_handlers_generic_handler(service, of_methods)


SERVING = health_pb2.HealthCheckResponse.SERVING


def add_health(servicer: Any, server: Any) -> None:
    """Add the health service to a server."""
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)


def enable_reflection(server: Any) -> None:
    """Enable server reflection.

    Google's generated types have no service descriptors, so they are built here.
    """
    pool = descriptor_pool.Default()
    try:
        pool.FindServiceByName(PUBLISHER)
    except KeyError:
        pool.AddSerializedFile(_services_file().SerializeToString())
    names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server, pool=pool)


def _services_file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package=_PACKAGE, syntax="proto3")
    needed = {Empty.DESCRIPTOR.file.name}
    for service, methods in SERVICES.items():
        if not service.startswith(_PACKAGE):
            continue
        described = file.service.add(name=service.removeprefix(f"{_PACKAGE}."))
        for name, method in methods.items():
            needed |= {each.DESCRIPTOR.file.name for each in (method.request, method.response)}
            described.method.add(
                name=name,
                input_type=f".{method.request.DESCRIPTOR.full_name}",
                output_type=f".{method.response.DESCRIPTOR.full_name}",
                client_streaming=method.streaming,
                server_streaming=method.streaming,
            )
    file.dependency.extend(sorted(needed))
    return file
