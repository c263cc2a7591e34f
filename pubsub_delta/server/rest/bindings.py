"""The HTTP bindings of methods, by the API's own google.api.http annotations.

Google's generated types have no service descriptors. So the annotations are read from the REST
transports of the same package, where the generator wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote

from google.pubsub_v1.services.publisher.transports import rest_base as publisher
from google.pubsub_v1.services.schema_service.transports import rest_base as schemas
from google.pubsub_v1.services.subscriber.transports import rest_base as subscriber

from pubsub_delta.errors import FailedPrecondition, InvalidArgument
from pubsub_delta.server.grpc_services import (
    IAM_POLICY,
    PUBLISHER,
    SCHEMA_SERVICE,
    SERVICES,
    STREAMING_PULL,
    SUBSCRIBER,
    Method,
)

_VARIABLE = re.compile(r"\{([a-z_.]+)=([^{}]+)\}")
_SEGMENT = "[^/]+"
_SEGMENT_BEFORE_A_VERB = "[^/:]+"


@dataclass(frozen=True)
class Binding:
    """An HTTP method and a path template that call an RPC method.

    ``template``: as in google.api.http, ``/v1/{topic=projects/*/topics/*}:publish``. ``body``: the
    field of the body, ``*`` for the whole request, "" without a body.
    """

    verb: str
    template: str
    body: str
    service: str
    name: str

    @property
    def method(self) -> Method:
        """The method with its messages."""
        return SERVICES[self.service][self.name]

    def variables(self, path: str) -> Mapping[str, str] | None:
        """Return the variables of the template in a path; None if the path does not match."""
        names, pattern = _compiled(self.template)
        found = pattern.fullmatch(path)
        if found is None:
            return None
        try:
            texts = [unquote(each, errors="strict") for each in found.groups()]
        except UnicodeDecodeError:
            raise InvalidArgument(
                f"path: {path!r} is not UTF-8; a percent-encoded path in UTF-8 is accepted"
            ) from None
        return dict(zip(names, texts, strict=True))


@cache
def _compiled(template: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Return the variables of a template, and a pattern with a group for each.

    >>> _compiled("/v1/{topic.name=projects/*/topics/*}:publish")
    (('topic.name',), re.compile('/v1/(projects/[^/]+/topics/[^/:]+):publish'))
    """
    names, written = [], ""
    for index, part in enumerate(_VARIABLE.split(template)):
        if index % 3 == 1:
            names.append(part)
        else:
            segments = _SEGMENT.join(map(re.escape, part.split("*")))
            written += f"({segments})" if index % 3 else segments
    head, segment, tail = written.rpartition(_SEGMENT)
    if "/" not in tail:  # the last segment: a verb follows its colon
        segment = _SEGMENT_BEFORE_A_VERB
    return tuple(names), re.compile(head + segment + tail)


def found(verb: str, path: str) -> tuple[Binding, Mapping[str, str]] | None:
    """Return the binding of a request and the variables of its path; None if there is none."""
    for binding in BINDINGS:
        if binding.verb == verb:
            variables = binding.variables(path)
            if variables is not None:
                return binding, variables
    return None


def verbs(path: str) -> list[str]:
    """Return the HTTP methods that a path accepts."""
    return sorted({each.verb for each in BINDINGS if each.variables(path) is not None})


def _rules(transport: Any, name: str) -> list[dict[str, str]]:
    try:
        return list(getattr(transport, f"_Base{name}")._get_http_options())
    except AttributeError:
        raise FailedPrecondition(
            f"the installed google-cloud-pubsub has no HTTP annotations of {name}; install release "
            "2.30 or later"
        ) from None


def _all() -> Iterator[Binding]:
    transports = {
        PUBLISHER: publisher._BasePublisherRestTransport,
        SUBSCRIBER: subscriber._BaseSubscriberRestTransport,
        SCHEMA_SERVICE: schemas._BaseSchemaServiceRestTransport,
        IAM_POLICY: publisher._BasePublisherRestTransport,  # any of them has IAMPolicy
    }
    for service, transport in transports.items():
        for name in SERVICES[service]:
            if name == STREAMING_PULL:  # Pub/Sub offers it by gRPC only
                continue
            for rule in _rules(transport, name):
                yield Binding(
                    rule["method"].upper(), rule["uri"], rule.get("body", ""), service, name
                )


BINDINGS = tuple(_all())
