"""Seeded bugs of ``protoc.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_schema_protobuf.py",)

BUGS = (
    Bug(
        "slow-definition-is-an-error-of-ours",
        "A definition that takes too long is a TimeoutExpired.",
        "        except subprocess.TimeoutExpired:",
        "        except ValueError:",
    ),
)
