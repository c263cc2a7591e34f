"""Seeded bugs of ``micro_batch_lease.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_micro_batch_lease.py",
    "tests/unit/test_data_source_consumer.py",
)

BUGS = (
    Bug(
        "lease-extended-at-its-end",
        "The lease of a micro-batch is extended when it has ended.",
        "return self._deadline / 3",
        "return float(self._deadline)",
    ),
    Bug(
        "stopped-query-has-failed",
        "The messages of a query that is stopped fail, and those of a failed one do not.",
        "self._enter(_Phase.STOPPED if stopped else _Phase.FAILED)",
        "self._enter(_Phase.FAILED if stopped else _Phase.STOPPED)",
    ),
    Bug(
        "left-is-given-back",
        "A micro-batch that is left to the next one is given back.",
        "        elif phase is not _Phase.LEFT:\n",
        "        else:\n",
    ),
    Bug(
        "micro-batch-outlives-the-program",
        "The lease of a micro-batch is extended while the interpreter exits.",
        "        stop_at_exit(self, MicroBatchLease.leave)\n",
        "",
    ),
    Bug(
        "acknowledged-messages-can-be-delivered-again",
        "The log of a query tells that messages come again which it has acknowledged itself.",
        "            if not found.success and self._leaves_messages():\n",
        "            if not found.success:\n",
    ),
    Bug(
        "lease-of-a-deleted-subscription-is-looked-for",
        "The log of a query whose subscription was created anew has a traceback, and no reason.",
        "        except DataLoss:  # the subscription was deleted meanwhile\n",
        "        except ZeroDivisionError:\n",
    ),
)
