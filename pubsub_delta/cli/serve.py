"""``pubsub-delta serve``: a server that speaks google.pubsub.v1, over gRPC and REST."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import Switch
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.console import SERVE_PREFIX, access_options, console_in_thread
from pubsub_delta.cli.times import parse_duration
from pubsub_delta.cli.token_files import read_token
from pubsub_delta.clock import CheckedClock, SystemClock
from pubsub_delta.durations import parse_duration_within

if TYPE_CHECKING:
    from pubsub_delta.server.security import Security

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_CLOCK = CheckedClock(SystemClock())
_LONGEST_GATHER = timedelta(seconds=10)
"""A publisher waits for a minute, in Google's clients."""


@click.command(
    "serve",
    cls=Command,
    examples=[
        "serve --root=./pubsub",
        "serve --host-port=localhost:8085 --metrics-port=9464",
        "serve --root=./pubsub --console-port=8086 --console-read-only",
    ],
)
@click.option(
    "--host-port",
    default="localhost:8085",
    show_default=True,
    help="The address to listen at; port 0 for a free one.",
)
@click.option(
    "--group-commit",
    default="0.02s",
    show_default=True,
    help="The longest wait of a request for others to share its commit.",
)
@click.option(
    "--confirm-acks",
    cls=Switch,
    help="Respond to acknowledgements after their commit, even without exactly-once delivery.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="The number of concurrent commits of topics and subscriptions.",
)
@click.option("--metrics-port", type=click.IntRange(0, 65535), help="Serve /metrics at this port.")
@click.option(
    "--metrics-interval",
    default="60s",
    show_default=True,
    help="The time between two measurements.",
)
@click.option(
    "--otlp-endpoint",
    metavar="URL",
    help="Send traces and metrics to this OTLP receiver: http://localhost:4317.",
)
@click.option("--tls-certificate", type=_FILE, help="The PEM file of the certificate; serves TLS.")
@click.option("--tls-key", type=_FILE, help="The PEM file of the certificate's key.")
@click.option("--token-file", type=_FILE, help="The file with the token that clients must send.")
@click.option(
    "--policy-file",
    type=_FILE,
    help="The policy file: tokens, members and their roles, as YAML or JSON.",
)
@click.option(
    "--push-keys-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of the keys that sign tokens of push requests. Default: a file in a local root.",
)
@click.option(
    "--push-issuer",
    metavar="URL",
    help="The URL at which receivers of pushes reach this server. Default: http://HOST:PORT.",
)
@click.option("--insecure", cls=Switch, help="Listen to a public address without TLS and token.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Plain lines, or one JSON object a line.",
)
@click.option(
    "--console-port",
    type=click.IntRange(0, 65535),
    help="Run the console, too, at this port; 0 for a free one.",
)
@access_options(SERVE_PREFIX)
@click.pass_obj
def serve(app: App, /, host_port: str, log_format: str, **options: Any) -> None:
    """Let programs written for Google Cloud Pub/Sub use the store, in any language.

    Google's clients find it by PUBSUB_EMULATOR_HOST=host:port, tools that speak REST by
    http://host:port/. It runs until it is interrupted (Ctrl+C, SIGTERM). Then it writes the
    acknowledgements that it has received, and gives back leased messages that no client has
    received.
    """
    # Imported here: the extra is needed for this command only.
    import os

    from pubsub_delta.server.memory import choose_allocator

    choose_allocator(os.environ)  # before anything imports Arrow
    from pubsub_delta.server.listening import listen
    from pubsub_delta.server.security import Security, split_address

    host, port = split_address(host_port)
    policy = options["policy_file"]
    access = None
    if policy is not None:
        from pubsub_delta.server.authorization import store_authorizer

        access = store_authorizer(policy, lambda: app.store.tables, _CLOCK.now)
    security = Security(
        certificate=options["tls_certificate"],
        key=options["tls_key"],
        token=read_token(options["token_file"], "token-file"),
        access=access,
        insecure=bool(options["insecure"]),
    )
    security.check(host)
    with ExitStack() as listening:
        sockets = listen(host, port)
        for each in sockets:
            listening.callback(each.close)
        _serve(app, host, sockets, security, log_format, options)


def _serve(
    app: App,
    host: str,
    sockets: tuple[socket.socket, ...],
    security: Security,
    log_format: str,
    options: dict[str, Any],
) -> None:
    """Serve until the process is told to end. Clients that connect meanwhile wait for a reply."""
    # Imported here: they take more than a second, and the sockets listen already.
    import asyncio

    from pubsub_delta.server.authorization import may_forward
    from pubsub_delta.server.backend import StoreBackend
    from pubsub_delta.server.counters import Counters
    from pubsub_delta.server.lease_journals import FOLDER, LeaseJournals
    from pubsub_delta.server.listening import port_of
    from pubsub_delta.server.logs import log_to
    from pubsub_delta.server.push_keys import KEYS
    from pubsub_delta.server.push_tokens import checked_issuer
    from pubsub_delta.server.serve import Server, ServerSettings, run
    from pubsub_delta.server.telemetry import telemetry
    from pubsub_delta.server.timing import Timing

    clock = _CLOCK
    issuer = checked_issuer(options["push_issuer"])
    wait = parse_duration(options["group_commit"], "group-commit")
    gather = parse_duration_within(wait, "group-commit", timedelta(0), _LONGEST_GATHER)
    timing = Timing(gather=gather.total_seconds(), confirm_acks=bool(options["confirm_acks"]))
    level = app.settings.log_level
    with ExitStack() as running:
        start_console = running.enter_context(console_in_thread(app, options))
        store = app.store
        log_to(logging.StreamHandler(), log_format, "info" if level == "error" else level)
        counters = Counters()
        backend = StoreBackend(store, options["workers"], may_forward(security.access))
        running.callback(backend.close)

        def started(listening: int) -> None:
            app.print_status(f"Listening on {host}:{listening}. Programs find it by")
            app.print_status(f"  export PUBSUB_EMULATOR_HOST={host}:{listening}")
            app.print_status(f"{app.place}: {store.lane}.")
            start_console()

        def server() -> Server:
            local = store.tables.local_directory
            keys = options["push_keys_file"] or (local and Path(local, FOLDER, KEYS))
            journals = LeaseJournals(local, store.tables.new_id())
            settings = ServerSettings(
                host, port_of(sockets), security, timing, keys or None, issuer
            )
            return Server(backend, clock.now, settings, counters, journals, tracing)

        tracing, port_of_metrics = None, options["metrics_port"]
        asked = telemetry(options["otlp_endpoint"], app.environment)
        if asked is not None or port_of_metrics is not None:
            from pubsub_delta.server.exporting import ServerExporter

            every = options["metrics_interval"]
            exporter = ServerExporter(counters, backend.metric_rows, clock.now, every)
            if asked is not None:
                telemetry_server = asked(exporter.collect)
                running.callback(telemetry_server.stop)
                tracing = telemetry_server.tracing
            running.enter_context(exporter)
            if port_of_metrics is not None:
                scraped = exporter.serve(port_of_metrics)
                app.print_status(f"Metrics: http://127.0.0.1:{scraped}/metrics")
        asyncio.run(run(server, started, sockets))
