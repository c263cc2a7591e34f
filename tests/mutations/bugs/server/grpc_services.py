"""The nearest tests of ``server/grpc_services.py``, for mutants."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_answers.py",
    "tests/unit/test_server_transport.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS: tuple[Bug, ...] = ()
