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
    Bug(
        "stream-of-files-that-vacuum-removed",
        "A stream from a time on ends, as it reads files that OPTIMIZE has replaced long ago.",
        "tables/messages/stored.py",
        "each.version == first and now - kept < each.time for",
        "each.version == first for",
    ),
    Bug(
        "text-that-py4j-does-not-send",
        "A query whose error names a file that is no Unicode does not tell what has failed.",
        "streaming.py",
        "            if as_utf8(told) == told:\n",
        "            if told:\n",
    ),
)
