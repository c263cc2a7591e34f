"""Seeded bugs of ``policy/push_window.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_push_window.py",
    "tests/unit/test_server_push.py",
)

BUGS = (
    Bug(
        "push-window-doubles-beyond-64",
        "The push window doubles once more at 64 requests.",
        "1 if self.size < SLOW_START_ENDS else 1 / self.size",
        "1 if self.size <= SLOW_START_ENDS else 1 / self.size",
    ),
    Bug(
        "window-does-not-shrink",
        "A failure leaves the push window as large as it was.",
        "size = max(self.size / 2, 1)",
        "size = max(self.size, 1)",
    ),
    Bug(
        "every-failure-of-a-round-counts",
        "Each failed request of a round begins a longer pause.",
        "sent <= self.halved_at <= now:",
        "sent < self.halved_at - LONGEST_PAUSE:",
    ),
    Bug(
        "push-forgets-failures-at-once",
        "One success among failures makes the next pause the shortest.",
        "failures=max(self.failures - 1, 0))",
        "failures=0)",
    ),
    Bug(
        "a-push-pause-counts-from-the-request",
        "After a slow failure there is no pause: the endpoint is pushed to at once.",
        "paused_until=now + pause",
        "paused_until=sent + pause",
    ),
    Bug(
        "request-sent-at-the-halving",
        "The failure of a push that was sent at the moment of a halving halves the window again.",
        "sent <= self.halved_at <= now:",
        "sent < self.halved_at <= now:",
    ),
    Bug(
        "a-pause-by-as-much-as-the-clock-was-set-back",
        "An endpoint gets no pushes for an hour after a failure, if the clock was set back.",
        "sent <= self.halved_at <= now:",
        "sent <= self.halved_at:",
    ),
)
