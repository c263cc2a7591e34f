"""Seeded bugs of ``callbacks.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_suspended_processes.py",
    "tests/unit/test_callbacks.py",
    "tests/unit/test_subscriber.py",
    "tests/unit/test_subscriber_end.py",
    "tests/unit/test_signal_handlers.py",
    "tests/unit/test_forked_processes.py",
)

BUGS = (
    Bug(
        "callbacks-of-what-returned",
        "After a nack the later messages of its key are called, though the store has them again.",
        "            elif self._outstanding.nack(call, call):\n"
        "                self._waiting[call.key] = _outstanding(self._waiting[call.key])\n",
        "            else:\n                self._outstanding.nack(call, call)\n",
    ),
    Bug(
        "callbacks-key-stuck-behind-what-is-lost",
        "A key whose next message was lost before it was called is never called again.",
        "            if call.stage in (_Stage.READY, _Stage.RETURNED):\n",
        "            if call.stage is _Stage.RETURNED:\n",
    ),
    Bug(
        "ack-in-a-forked-process",
        "An ack in a forked process is told as done, and never written.",
        'has one already."""\n        self._own_process.check()\n',
        'has one already."""\n',
    ),
    Bug(
        "deadline-after-the-end",
        "Who moves a deadline after the end of the StreamingPull waits for ever.",
        "            elif future is not None:\n                future.set_exception(self._ended)\n",
        "",
    ),
    Bug(
        "outcome-that-came-before",
        "Who asks for the outcome of an ack after it has come waits for ever.",
        "                call.future = _started()\n"
        "                _set(call.future, call.outcome)\n",
        "                call.future = _started()\n",
    ),
    Bug(
        "a-key-stops-with-a-lost-message",
        "A key whose message was lost while it waited for its ack is never called again.",
        "if call.stage in (_Stage.READY, _Stage.RETURNED):",
        "if call.stage is _Stage.READY:",
    ),
    Bug(
        "a-callback-that-exits-keeps-its-message",
        "A callback that calls sys.exit ends its worker, and its message stays leased.",
        "        except BaseException:\n            which",
        "        except Exception:\n            which",
    ),
    Bug(
        "late-ack-lets-two-go-on",
        "A late ack of a lost message lets one more of its key be handled.",
        "            if was_outstanding and call.stage is _Stage.RETURNED:\n",
        "            if call.stage is _Stage.RETURNED:\n",
    ),
    Bug(
        "dropped-of-one-key",
        "Of lost messages of several keys those of one are not called, and the others are.",
        "        for key in {call.key for call in calls if call.key}:\n",
        "        for key in [call.key for call in calls if call.key][:1]:\n",
    ),
    Bug(
        "lease-for-longer-than-there-are-times",
        "A max_lease_duration of more than two thousand years ends a pull.",
        "if now - each.leased >= duration]",
        "if each.leased <= now - duration]",
    ),
    Bug(
        "lease-as-old-as-the-longest",
        "A lease exactly as old as the longest lease duration is extended once more.",
        "if now - each.leased >= duration]",
        "if now - each.leased > duration]",
    ),
    Bug(
        "a-stop-that-waits",
        "Cancelling an idle StreamingPull waits for the next exchange.",
        "            self._work.notify_all()\n        if self.idle:\n            self._on_idle()\n",
        "            self._work.notify_all()\n",
    ),
    Bug(
        "called-after-a-suspension",
        "A program that was stopped calls its callback with what another has acknowledged.",
        "if not call.may_be_sent(self._now()):",
        "if False:",
    ),
)
