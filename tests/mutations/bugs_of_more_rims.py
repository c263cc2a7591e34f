"""Bugs where a rule applies to the second of several, at equality, or after a failure."""

from __future__ import annotations

from tests.mutations.bug import Bug

_NEXT = "        with _reporting(report, subscription.name):\n"
_TELLS = "                report.problems[subscription.name] = done.problem\n"

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
        "                failed += puller.acknowledge(app.service)\n",
        "                failed = list(puller.acknowledge(app.service))\n",
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
    Bug(
        "losses-of-the-last-part",
        "A pull whose lost messages are not in the last part that is read tells of no loss.",
        "delivery/leases.py",
        "left, lost = left - part, lost | gone",
        "left, lost = left - part, gone",
    ),
    Bug(
        "one-more-than-fits",
        "A read whose first part fills its room returns one message more than fits.",
        "delivery/leases.py",
        "found += read[: fitting or (0 if found else 1)]",
        "found += read[: fitting or 1]",
    ),
    Bug(
        "problem-behind-letters",
        "maintain tells no reason why some dead letters were not forwarded if others were.",
        "operations/maintain.py",
        "            if done.problem:\n" + _TELLS,
        "            elif done.problem:\n" + _TELLS,
    ),
    Bug(
        "letters-of-the-last-commit",
        "Of dead letters that are forwarded in several commits those of the last are told.",
        "delivery/dead_letters.py",
        "            count += messages\n",
        "            count = messages\n",
    ),
    Bug(
        "unheard-after-confirmations",
        "A stream with many unread confirmations hears no more of its client, who reads them.",
        "server/response_queue.py",
        "        self._read.set()\n",
        "",
    ),
    Bug(
        "messages-bounded-apart",
        "Each subscription of a server may have as many messages in memory as all of them.",
        "server/memory.py",
        "whole.messages >= whole._most_messages",
        "self.messages >= whole._most_messages",
    ),
    Bug(
        "journal-left-after-a-failure",
        "A journal that could not be written frees messages that consumers were given since.",
        "server/lease_journals.py",
        "            with suppress(OSError):\n                self._path.unlink(missing_ok=True)\n",
        "",
    ),
    Bug(
        "given-of-one-lease",
        "Of messages of several leases that are given at once only one lease is noted.",
        "server/lease_journals.py",
        'self._write("".join(lines))',
        'self._write(lines[-1] if lines else "")',
    ),
    Bug(
        "asyncio-logs-itself",
        "A server without a free file descriptor logs a thousand tracebacks a second.",
        "server/multiplexer.py",
        "        loop.set_exception_handler(_LoopErrors())\n",
        "",
    ),
    Bug(
        "warns-each-second",
        "A server without a free file descriptor warns a thousand times a second.",
        "server/multiplexer.py",
        "            self._next_warning = uptime() + _SECONDS_BETWEEN_WARNINGS\n",
        "",
    ),
    Bug(
        "subscriber-outlives-the-program",
        "A program that ends without cancel loses what its callbacks said last.",
        "subscriber.py",
        "        stop_at_exit(self, StreamingPull._cancel_in_time)\n",
        "",
    ),
    Bug(
        "micro-batch-outlives-the-program",
        "The lease of a micro-batch is extended while the interpreter exits.",
        "micro_batch_lease.py",
        "        stop_at_exit(self, MicroBatchLease.leave)\n",
        "",
    ),
    Bug(
        "exit-waits-for-ever",
        "A callback that hangs keeps a program from its end.",
        "subscriber.py",
        "        wait([self._end], EXIT_SECONDS)\n",
        "        wait([self._end])\n",
    ),
    Bug(
        "a-fork-stops-its-parent",
        "A forked process waits at its exit for threads that only its parent has.",
        "threads.py",
        "    os.register_at_fork(after_in_child=_working.clear)\n",
        "    pass\n",
    ),
    Bug(
        "no-work-at-exit",
        "What is done in threads fails when the interpreter exits.",
        "threads.py",
        "            results = map(work, items)\n",
        "            raise\n",
    ),
    Bug(
        "orderly-exit-beside-a-listing",
        "The process of a Tab whose listing goes on crashes at its exit.",
        "cli/main.py",
        "        exit_beside_listing(end.code if isinstance(end.code, int) else 0)\n",
        "",
    ),
    Bug(
        "cleanup-after-each-commit",
        "Each commit to an ack state asks for the status of every file of its log.",
        "tables/lanes/direct/commits.py",
        "NO_CLEANUP = PostCommitHookProperties(cleanup_expired_logs=False)\n",
        "NO_CLEANUP = PostCommitHookProperties()\n",
    ),
)
