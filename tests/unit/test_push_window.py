"""How fast an endpoint is pushed to: slow start, halving, and the pauses of push backoff."""

from __future__ import annotations

from datetime import timedelta

from pubsub_delta.policy.push_window import FIRST_SIZE, LARGEST_SIZE, SLOW_START_ENDS, PushWindow
from tests.unit.builders import at


def after_successes(window: PushWindow, count: int) -> PushWindow:
    for _ in range(count):
        window = window.succeeded()
    return window


def after_failures(count: int, *, has_retry_policy: bool = False) -> PushWindow:
    """Return a window of which so many rounds failed, an hour from one to the next."""
    window = PushWindow()
    for n in range(count):
        window = window.failed(
            at(3600 * n + 1), at(3600 * n + 1), has_retry_policy=has_retry_policy
        )
    return window


def test_a_round_of_successes_doubles_a_small_window() -> None:
    # "The system starts with a small single-digit window size … the window increases exponentially"
    window = PushWindow()
    assert window.requests == FIRST_SIZE == 5
    window = after_successes(window, window.requests)
    assert window.requests == 10
    assert after_successes(window, window.requests).requests == 20


def test_a_large_window_grows_by_one_with_each_round_and_has_a_bound() -> None:
    window = PushWindow(size=SLOW_START_ENDS)
    assert after_successes(window, SLOW_START_ENDS + 1).requests == SLOW_START_ENDS + 1
    assert after_successes(window, 100_000).requests == LARGEST_SIZE


def test_a_failure_halves_the_window_down_to_one() -> None:
    # "The push window increases on any successful delivery and decreases on any failure."
    sizes = [after_failures(n).requests for n in range(5)]
    assert sizes == [5, 2, 1, 1, 1]


def test_the_failures_of_a_round_are_one_failure() -> None:
    window = PushWindow(size=64).failed(at(1), at(2), has_retry_policy=False)
    for sent in (0, 1, 2):
        assert window.failed(at(sent), at(3), has_retry_policy=False) == window
    assert window.failed(at(2.5), at(3), has_retry_policy=False).requests == 16


def test_pauses_double_from_100_ms_to_60_s() -> None:
    # "This time span can range between 100 milliseconds to 60 seconds", exponentially
    pauses = []
    for n in range(1, 13):
        pauses.append(after_failures(n).pause(at(3600 * (n - 1) + 1)) / timedelta(seconds=1))
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60, 60]


def test_a_pause_ends() -> None:
    window = PushWindow().failed(at(0), at(0), has_retry_policy=False)
    assert window.pause(at(0.05)) == timedelta(seconds=0.05)
    assert window.pause(at(0.1)) == window.pause(at(9)) == timedelta(0)


def test_a_pause_begins_with_the_failure_and_not_with_its_request() -> None:
    # "The k-th begins a pause": an endpoint that fails by its deadline is left alone after it
    window = PushWindow().failed(at(0), at(600), has_retry_policy=False)
    assert window.pause(at(600)) == timedelta(seconds=0.1)


def test_successes_make_good_for_failures() -> None:
    window = after_successes(after_failures(4), 2)
    assert window.failures == 2
    window = window.failed(at(99_999), at(99_999), has_retry_policy=False)
    assert window.pause(at(99_999)) == timedelta(seconds=0.4)
    assert after_successes(after_failures(4), 9).failures == 0


def test_with_a_retry_policy_others_go_on_while_some_succeed() -> None:
    # "With the subscription's retry policy … the redelivery delay comes from that policy"
    window = PushWindow(size=64)
    for n in range(5):
        window = window.failed(at(n + 1), at(n + 1), has_retry_policy=True)
        assert window.requests == 64 // 2 ** (n + 1) > 1
        assert window.pause(at(n + 1)) == timedelta(0)


def test_with_a_retry_policy_an_endpoint_that_only_fails_is_tried_about_once_a_second() -> None:
    pauses = []
    for n in range(1, 8):
        window = after_failures(n, has_retry_policy=True)
        pauses.append(window.pause(at(3600 * (n - 1) + 1)) / timedelta(seconds=1))
    assert pauses == [0, 0, 0.4, 0.8, 1, 1, 1]


def test_from_64_on_each_success_adds_its_part_of_a_request() -> None:
    # "from 64 on it grows by one with every round"
    below, at_the_end = PushWindow(size=SLOW_START_ENDS - 1), PushWindow(size=SLOW_START_ENDS)
    assert below.succeeded().size == SLOW_START_ENDS
    assert at_the_end.succeeded().size == SLOW_START_ENDS + 1 / SLOW_START_ENDS


def test_a_clock_that_is_set_back_makes_no_pause_longer() -> None:
    # "This time span can range between 100 milliseconds to 60 seconds"
    window = PushWindow().failed(at(3600), at(3600), has_retry_policy=False)
    later = window.failed(at(1), at(2), has_retry_policy=False)
    assert (later.requests, later.pause(at(2))) == (1, timedelta(seconds=0.2))
