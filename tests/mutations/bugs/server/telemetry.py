"""Seeded bugs of ``server/telemetry.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_server_otel.py",)

BUGS = (
    Bug(
        "traces-that-nobody-asked-for",
        "OpenTelemetry is on though its own variable turns it off.",
        'environment.get("OTEL_SDK_DISABLED", "").lower() == "true"',
        'environment.get("OTEL_SDK_DISABLED", "").lower() == "yes"',
    ),
)
