"""Seeded bugs of ``subscriber.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_subscriber.py",
    "tests/unit/test_subscriber_end.py",
    "tests/unit/test_signal_handlers.py",
    "tests/unit/test_forked_processes.py",
    "tests/lanes/test_exits.py",
)

BUGS = (
    Bug(
        "pull-is-cancelled-by-no-handler",
        "A signal handler that cancels a pull waits for the ack that it has interrupted.",
        " or self._callbacks.is_interrupted():",
        ":",
    ),
    Bug(
        "second-signal-waits-for-the-first",
        "A second signal that cancels a pull waits for the cancel that it has interrupted.",
        "self._cancelling = threading.RLock()",
        "self._cancelling = threading.Lock()",
    ),
    Bug(
        "pull-stalls-where-no-thread-is-left",
        "A pull that can start no timer waits for ever for its next request.",
        "longest = self._interval",
        "longest = None",
    ),
    Bug(
        "pull-that-does-not-start-leaves-threads",
        "Each pull that cannot start leaves threads, which others then lack.",
        "start_threads((*self._callbacks.threads, self._thread), self._callbacks.stop)",
        "start_threads((*self._callbacks.threads, self._thread), lambda: None)",
    ),
    Bug(
        "error-of-a-pull-is-not-read",
        "The error of a StreamingPull is None for whoever reads it as of any other future.",
        "        return self._end.exception(timeout)\n",
        "        return None\n",
    ),
    Bug(
        "full-disk-ends-a-streaming-pull",
        "A disk that is full for a moment ends the StreamingPull of a program.",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unknown)",
    ),
    Bug(
        "outcome-in-doubt-ends-a-pull",
        "An ack whose answer was lost while others were busy ends `store.subscribe()`.",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unavailable)",
    ),
    Bug(
        "callbacks-end-with-one-try",
        "What callbacks have acknowledged is lost if the last request loses a race.",
        "        for _ in range(_LAST_REQUESTS - 1):\n",
        "        for _ in range(0):\n",
    ),
    Bug(
        "cancel-in-a-forked-process",
        "A pull that is cancelled in a forked process waits for ever.",
        "        if not self._own_process.is_this:\n            return 0\n",
        "",
    ),
    Bug(
        "shortest-extension-for-all",
        "The subscriber extends leases by ten seconds, whatever the ack deadline.",
        "timedelta(seconds=min(max(seconds, least), most))",
        "timedelta(seconds=max(min(seconds, least), least))",
    ),
    Bug(
        "small-messages-wait-as-a-large-one",
        "Small messages behind a large one wait until there is room for such a large one.",
        "        unread.needs = 1\n",
        "",
    ),
    Bug(
        "subscriber-outlives-the-program",
        "A program that ends without cancel loses what its callbacks said last.",
        "        stop_at_exit(self, StreamingPull._cancel_in_time)\n",
        "",
    ),
    Bug(
        "exit-waits-for-ever",
        "A callback that hangs keeps a program from its end.",
        "        wait([self._end], EXIT_SECONDS)\n",
        "        wait([self._end])\n",
    ),
    Bug(
        "large-message-read-again",
        "A subscriber reads a message for which there is no room again and again.",
        "            unread.needs = size_of(received[0])  # dropped, and delivered again\n",
        "",
    ),
    Bug(
        "callback-as-it-is-given",
        "What a callback returns is not looked at: a message stays outstanding without a word.",
        '        callback = check_function(callback, "callback", "a message")\n',
        '        check_function(callback, "callback", "a message")\n',
    ),
    Bug(
        "flow-control-of-google",
        "A subscriber takes the flow control of Google's client, and ends in an error of Python.",
        '        check_settings(flow_control, FlowControl, "flow_control")\n',
        "",
    ),
    Bug(
        "large-message-not-noted",
        "A message that has no room is read again and again.",
        "unread.needs = size_of(received[0])  #",
        "unread.needs = 1  #",
    ),
    Bug(
        "a-pull-fails-without-a-word",
        "The log does not say that a streaming pull has failed.",
        'logger.error("%s: the streaming pull fails',
        'logger.debug("%s: the streaming pull fails',
    ),
)
