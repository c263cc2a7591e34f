"""Bugs where a rule applies to the second of several, at equality, or after a failure."""

from __future__ import annotations

from tests.mutations.bug import Bug

_NEXT = "        with _reporting(report, subscription.name):\n"

BUGS_OF_MORE_RIMS = (
    Bug(
        "dropped-of-one-key",
        "Of lost messages of several keys those of one are not called, and the others are.",
        "callbacks.py",
        "        for key in {call.key for call in calls if call.key}:\n",
        "        for key in [call.key for call in calls if call.key][:1]:\n",
    ),
    Bug(
        "one-earlier-endpoint",
        "The end of a server gives back nothing of the endpoints before the last two.",
        "server/pushing.py",
        "for each in (*self._ended, pusher) if",
        "for each in (pusher,) if",
    ),
    Bug(
        "no-earlier-endpoint",
        "The end of a server gives back nothing of the endpoints before the last one.",
        "server/pushing.py",
        "pushers = (*self._workers.values(), *self._ended)",
        "pushers = (*self._workers.values(),)",
    ),
    Bug(
        "failures-of-the-last-batch",
        "pull --follow tells of no ack that failed before the last batch.",
        "cli/pull.py",
        "                failed += _not_acked(app.service, puller.name, batch)\n",
        "                failed = list(_not_acked(app.service, puller.name, batch))\n",
    ),
    Bug(
        "one-port-closed",
        "An exporter that is stopped goes on answering scrapes at all ports but one.",
        "exporter.py",
        "        while self._closing:\n",
        "        if self._closing:\n",
    ),
    Bug(
        "letters-end-at-a-detached-one",
        "maintain forwards no dead letters of subscriptions that are listed after a detached one.",
        "operations/maintain.py",
        "            continue\n" + _NEXT + "            source =",
        "            break\n" + _NEXT + "            source =",
    ),
    Bug(
        "tables-end-at-a-detached-one",
        "maintain writes no tables of subscriptions that are listed after a detached one.",
        "operations/maintain.py",
        "            continue\n" + _NEXT + "            name =",
        "            break\n" + _NEXT + "            name =",
    ),
)
