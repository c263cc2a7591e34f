"""Bugs of a server that runs for long, and of what it tells of itself."""

from __future__ import annotations

from tests.mutations.bug import Bug

_EXPORTING = "server/exporting.py"
_HUB = "server/hub.py"
_OTEL = "server/otel.py"
_PUBLISHING = "server/publishing.py"

BUGS_OF_CLIENTS = (
    Bug(
        "batchers-are-kept-for-ever",
        "A server keeps something of every topic that was ever published to.",
        _HUB,
        "if known.is_idle]:",
        "if known.is_idle and not name]:",
    ),
    Bug(
        "a-batcher-with-an-append-is-idle",
        "A batcher whose append is under way is forgotten: requests of a topic are no more one.",
        _PUBLISHING,
        "return self._task is None and not self._requests",
        "return not self._requests",
    ),
    Bug(
        "otlp-over-http-without-paths",
        "Over HTTP what is sent goes to the endpoint itself, where receivers have nothing.",
        _OTEL,
        'given = {"endpoint": f"{endpoint.rstrip(\'/\')}/v1/{signal}"}',
        'given = {"endpoint": endpoint}',
    ),
    Bug(
        "otlp-speaks-http-for-any-protocol",
        "A protocol of OTLP that is not there is taken for another one.",
        _OTEL,
        'if protocol not in ("grpc", "http/protobuf"):',
        "if not protocol:",
    ),
    Bug(
        "held-messages-are-not-told",
        "A metric of the messages that a server holds tells the bytes of what is published.",
        _EXPORTING,
        "lambda c: c.memory.messages,",
        "lambda c: c.memory.publishing,",
    ),
    Bug(
        "port-that-is-taken-is-a-traceback",
        "A server whose port another program has ends with Python's error.",
        "server/listening.py",
        "    except OSError as error:\n        for each in made:",
        "    except PermissionError as error:\n        for each in made:",
    ),
    Bug(
        "server-imported-before-it-listens",
        "A server that is started again refuses its clients while it imports, and they back off.",
        "server/security.py",
        "from pubsub_delta.addresses import is_loopback\n",
        "from pubsub_delta.addresses import is_loopback\n"
        "from pubsub_delta.server.grpc_services import grpc  # noqa: F401\n",
    ),
)
