"""``subscriptions watch`` and ``topics history``, against a store that gives prepared answers."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from rich.text import Text

from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.panel import bar, sparkline, view
from pubsub_delta.cli.samples import Sample, sample
from pubsub_delta.clock import ManualClock
from pubsub_delta.errors import NotFound
from pubsub_delta.operations.history import TopicCommit
from tests.unit.test_cli_arguments import NOW, TOPICS, Noting, run


def metrics(undelivered: int, success: int, **others: Any) -> dict[str, Any]:
    return {
        "num_undelivered_messages": undelivered,
        "num_outstanding_messages": 2,
        "oldest_unacked_message_age": 64.0,
        "ack_message_count": {"success": success, "expired": 0, "invalid": 0},
        "dead_letter_message_count": 0,
        **others,
    }


class Changing:
    """A store whose metrics are other ones at each look; after the last one it is interrupted."""

    def __init__(self, *answers: dict[str, Any] | BaseException) -> None:
        self.answers = list(answers)

    def metrics(self, _: str) -> dict[str, Any]:
        answer = self.answers.pop(0) if self.answers else KeyboardInterrupt()
        if isinstance(answer, BaseException):
            raise answer
        return answer


def watch(store: Changing, *options: str) -> Result:
    """Watch under a clock that moves by as much as is waited."""
    clock = ManualClock(NOW)
    variables = {"PUBSUB_DELTA_ROOT": "/r", "PUBSUB_DELTA_PROJECT": "p"}
    app = App(lambda _: store, clock, variables, pause=clock.advance)  # type: ignore[arg-type, return-value]
    return CliRunner().invoke(cli, ["subscriptions", "watch", "sss", *options], obj=app)


def test_without_a_terminal_each_look_is_a_line_with_the_rate_since_the_last() -> None:
    looks = (metrics(1200, 10), metrics(1100, 110), metrics(900, 310))
    result = watch(Changing(*looks), "--interval=4s", "--count=3")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "2026-11-21T15:30:00Z  backlog 1,200  outstanding 2  oldest 1m 4s  "
        "acked 0/s  acked late 0/s  invalid 0/s  dead letters 0",
        "2026-11-21T15:30:04Z  backlog 1,100  outstanding 2  oldest 1m 4s  "
        "acked 25.0/s  acked late 0/s  invalid 0/s  dead letters 0",
        "2026-11-21T15:30:08Z  backlog 900  outstanding 2  oldest 1m 4s  "
        "acked 50.0/s  acked late 0/s  invalid 0/s  dead letters 0",
    ]


def test_ctrl_c_ends_it_with_success() -> None:
    result = watch(Changing(metrics(1, 0), metrics(2, 0)))
    assert (result.exit_code, result.stdout.count("\n")) == (0, 2)


def test_what_is_deleted_meanwhile_ends_it_with_an_error() -> None:
    result = watch(Changing(metrics(1, 0), NotFound("subscription sss does not exist")))
    assert (result.exit_code, result.stdout.count("\n")) == (1, 1)
    assert "ERROR: (pubsub-delta.subscriptions.watch) NOT_FOUND: " in result.stderr


def test_a_format_gives_a_document_for_each_look() -> None:
    looks = (metrics(5, 1), metrics(4, 2))
    lines = watch(Changing(*looks), "--format=json", "--count=2").stdout.splitlines()
    assert [json.loads(line)["num_undelivered_messages"] for line in lines] == [5, 4]
    assert [json.loads(line)["acks_per_second"]["success"] for line in lines] == [0, 0.5]
    table = watch(Changing(*looks), "--format=csv(num_undelivered_messages)", "--count=2")
    assert table.stdout == "num_undelivered_messages\n5\n4\n"


@pytest.mark.parametrize(
    "options", [["--interval=0"], ["--interval=0.09s"], ["--count=0"], ["--interval=soon"]]
)
def test_a_wrong_interval_or_count_is_refused(options: list[str]) -> None:
    result = watch(Changing(), *options)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("seconds", [0, -5])
def test_a_clock_that_does_not_move_or_is_set_back_gives_no_rate(seconds: int) -> None:
    first = sample(metrics(5, 1), NOW, None)
    later = NOW + timedelta(seconds=seconds)
    assert sample(metrics(5, 9), later, first).rates["success"] == 0


def test_an_interval_may_be_a_tenth_of_a_second() -> None:
    """ "0.1s or more is accepted"."""
    looks = (metrics(1, 0), metrics(1, 0))
    assert watch(Changing(*looks), "--interval=0.1s", "--count=2").exit_code == 0


def test_a_subscription_that_is_created_again_has_no_rate_below_zero() -> None:
    """The counts of a later subscription begin at 0: nothing was acknowledged backwards."""
    first = sample(metrics(5, 50), NOW, None)
    again = sample(metrics(0, 0), NOW + timedelta(seconds=10), first)
    assert again.rates["success"] == 0
    later = sample(metrics(0, 20), NOW + timedelta(seconds=20), again)
    assert later.rates["success"] == 2


@pytest.mark.parametrize("seconds", [0.25, 1, 1.5, 60])
def test_a_rate_is_per_second_however_long_the_interval(seconds: float) -> None:
    first = sample(metrics(5, 10), NOW, None)
    assert set(first.rates.values()) == {0}
    later = sample(metrics(5, 10 + int(seconds * 8)), NOW + timedelta(seconds=seconds), first)
    assert later.rates["success"] == 8


def shown(past: list[Sample], width: int) -> list[str]:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    with console.capture() as capture:
        console.print(view(Text("projects/p/subscriptions/sss"), past, timedelta(seconds=2)))
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_live_view_shows_the_last_look_and_the_way_there(width: int) -> None:
    past: list[Sample] = []
    for n in range(4):
        time = NOW + timedelta(seconds=2 * n)
        past.append(sample(metrics(100 * n, 10 * n), time, past[-1] if past else None))
    lines = shown(past, width)
    assert "projects/p/subscriptions/sss" in lines[0]
    assert any("backlog" in line and "300" in line and "▁▃▆█" in line for line in lines)
    assert any("acked" in line and "5.0/s" in line and "▁███" in line for line in lines)
    assert any("oldest" in line and "1m 4s" in line for line in lines)
    assert "15:30:06 UTC, every 2 s, Ctrl-C ends" in lines[-1]
    assert len({len(line) for line in lines}) == 1


def test_bars_stay_within_their_width() -> None:
    assert [len(bar(share)) for share in (0, 0.4, 1, 3)] == [30] * 4
    assert sparkline([]) == ""
    assert sparkline([-1, 2]) == "▁█"  # a count may fall, when a subscription is made anew


def test_history_is_a_table_of_commits() -> None:
    time = datetime(2026, 11, 20, tzinfo=timezone.utc)
    store = Noting(
        topic_history=[
            TopicCommit(4, time, "optimize", None),
            TopicCommit(3, time, "delete", 0),
            TopicCommit(2, time, "delete", 4),
            TopicCommit(1, time, "publish", 7, "flights:1", ("flights", 1)),
            TopicCommit(0, time, "create table", None),
        ]
    )
    result = run(store, "topics", "history", "ttt", "--limit=4")
    assert store.calls == [("topic_history", (TOPICS + "ttt", 4), {})]
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["VERSION", "TIME", "OPERATION", "MESSAGES", "PUBLISH_ID"],
        ["4", "2026-11-20T00:00:00Z", "optimize"],
        ["3", "2026-11-20T00:00:00Z", "delete", "0"],
        ["2", "2026-11-20T00:00:00Z", "delete", "4"],
        ["1", "2026-11-20T00:00:00Z", "publish", "7", "flights:1"],
        ["0", "2026-11-20T00:00:00Z", "create", "table"],
    ]
    told = json.loads(run(store, "topics", "history", "ttt", "--format=json").stdout)
    assert store.calls[-1][1] == (TOPICS + "ttt", 20)
    assert told[3] == {
        "version": 1,
        "time": "2026-11-20T00:00:00Z",
        "operation": "publish",
        "messageCount": 7,
        "publishId": "flights:1",
        "idempotencyId": {"applicationId": "flights", "version": 1},
    }
    assert told[0] == {"version": 4, "time": "2026-11-20T00:00:00Z", "operation": "optimize"}
    assert told[1]["messageCount"] == 0, "no message is another thing than not known"
