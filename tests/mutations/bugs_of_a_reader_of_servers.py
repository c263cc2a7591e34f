"""Bugs where a server, asked in odd ways, would do other than its pages say."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_READER_OF_SERVERS = (
    Bug(
        "enum-of-any-value",
        "REST takes true, 1.5 and digits of any script for a value of an enum.",
        "server/rest/payload.py",
        "elif field.cpp_type == FieldDescriptor.CPPTYPE_ENUM and not _is_of_enum(given, field):",
        "elif False:",
    ),
    Bug(
        "zone-of-any-hours",
        "REST takes a time for one of a zone that is 99 hours away.",
        "server/rest/payload.py",
        r"([01]\d|2[0-3]):[0-5]\d)",
        r"\d\d:[0-5]\d)",
    ),
    Bug(
        "token-and-a-wrong-clock",
        "A token that a wrong clock cannot check ends a call with UNKNOWN and the name of a class.",
        "server/tokens.py",
        "except PubSubError as error:",
        "except Unauthenticated as error:",
    ),
    Bug(
        "health-of-few-services",
        "A health check of the service of IAM policies ends with NOT_FOUND.",
        "server/serve.py",
        'for service in ("", *grpc_services.SERVICES):',
        'for service in ("", grpc_services.PUBLISHER, grpc_services.SUBSCRIBER):',
    ),
)
