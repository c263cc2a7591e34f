"""Bugs of streaming queries and Spark's sessions, as a reader of their pages found them."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_READER_OF_STREAMS = (
    Bug(
        "acknowledged-messages-can-be-delivered-again",
        "The log of a query tells that messages come again which it has acknowledged itself.",
        "micro_batch_lease.py",
        "            if not found.success and self._leaves_messages():\n",
        "            if not found.success:\n",
    ),
    Bug(
        "lease-of-a-deleted-subscription-is-looked-for",
        "The log of a query whose subscription was created anew has a traceback, and no reason.",
        "micro_batch_lease.py",
        "        except DataLoss:  # the subscription was deleted meanwhile\n",
        "        except ZeroDivisionError:\n",
    ),
)
