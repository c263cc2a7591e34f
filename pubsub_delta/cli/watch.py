"""``pubsub-delta subscriptions watch``: prints a subscription's metrics as they change."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import SUBSCRIPTION, DurationType
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.formats import projected
from pubsub_delta.cli.printing import render
from pubsub_delta.cli.rest import Record, time_text

SHORTEST = timedelta(seconds=0.1)
_FIELDS = (
    "time,num_undelivered_messages,num_outstanding_messages,oldest_unacked_message_age,"
    "acks_per_second.success:label=acks_per_second,"
    "acks_per_second.expired:label=expired_per_second,"
    "acks_per_second.invalid:label=invalid_per_second,"
    "dead_letter_message_count"
)


@dataclass(frozen=True)
class Sample:
    """The metrics of a subscription at a time, and the acks per second since the last sample."""

    time: datetime
    undelivered: int
    outstanding: int
    oldest_age: float
    acks: Mapping[str, int]
    dead_letters: int
    rates: Mapping[str, float]

    def record(self) -> Record:
        """Return the record with the names of the metrics."""
        return {
            "time": time_text(self.time),
            "num_undelivered_messages": self.undelivered,
            "num_outstanding_messages": self.outstanding,
            "oldest_unacked_message_age": self.oldest_age,
            "acks_per_second": {name: round(rate, 2) for name, rate in self.rates.items()},
            "dead_letter_message_count": self.dead_letters,
        }


def sample(metrics: Mapping[str, Any], time: datetime, before: Sample | None) -> Sample:
    """Return a sample; the rates of the first one are 0."""
    acks: Mapping[str, int] = metrics["ack_message_count"]
    seconds = 0.0 if before is None else (time - before.time).total_seconds()
    known = before.acks if before is not None and seconds > 0 else acks
    return Sample(
        time=time,
        undelivered=metrics["num_undelivered_messages"],
        outstanding=metrics["num_outstanding_messages"],
        oldest_age=metrics["oldest_unacked_message_age"],
        acks=acks,
        dead_letters=metrics["dead_letter_message_count"],
        rates={name: (n - known.get(name, 0)) / (seconds or 1) for name, n in acks.items()},
    )


@click.command(
    "watch",
    cls=Command,
    examples=[
        "subscriptions watch delays",
        "subscriptions watch delays --interval=10s --count=6 --format=csv",
    ],
)
@click.argument("subscription", type=SUBSCRIPTION)
@click.option(
    "--interval",
    type=DurationType(),
    default="2s",
    show_default=True,
    help="The time between two samples.",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    help="The number of samples to print. Default: until Ctrl+C.",
)
@click.make_pass_decorator(App)
def watch(app: App, subscription: str, interval: timedelta, count: int | None) -> None:
    """Show backlog, leases and acks as they change, until Ctrl-C.

    The command leases and writes nothing. If standard output is not a terminal, or with --format,
    each sample is one line, or one document.
    """
    if interval < SHORTEST:
        raise click.UsageError(
            f"--interval: {interval.total_seconds()}s; {SHORTEST.total_seconds()}s or more is "
            "accepted"
        )
    name = app.subscription(subscription)
    try:
        time = app.read_time("now")
        first = sample(app.call_store(lambda store: store.metrics(name)), time, None)
        samples = _samples(app, name, interval, count, first)
        dumb = app.environment.get("TERM") in ("dumb", "unknown")
        if sys.stdout.isatty() and not dumb and not app.global_options.get("format"):
            from pubsub_delta.cli.panel import show_live  # rich takes a while to import

            show_live(name, interval, samples)
        else:
            for text in _written(app, samples):
                click.echo(text, nl=False)
    except KeyboardInterrupt:
        app.print_status("")


def _samples(
    app: App, name: str, interval: timedelta, count: int | None, first: Sample
) -> Iterator[Sample]:
    last, done = first, 1
    yield last
    while count is None or done < count:
        app.pause(interval.total_seconds())
        time = app.read_time("now")
        last = sample(app.store.metrics(name), time, last)
        done += 1
        yield last


def _written(app: App, samples: Iterable[Sample]) -> Iterator[str]:
    """Write samples as lines of text, or in the format of --format."""
    if not app.global_options.get("format"):
        yield from (f"{line_of(each)}\n" for each in samples)
        return
    form = app.format(f"value({_FIELDS})")
    for each in samples:
        if form.kind == "json":
            yield json.dumps(projected(each.record(), form.columns), sort_keys=True) + "\n"
        else:
            yield render([each.record()], form)
            form = replace(form, attributes={**form.attributes, "no-heading": ""})


def line_of(of: Sample) -> str:
    """Write a sample as one line."""
    rates = "  ".join(f"{WORDS[name]} {rate_text(rate)}" for name, rate in of.rates.items())
    return (
        f"{time_text(of.time.replace(microsecond=0))}  backlog {of.undelivered:,}  "
        f"outstanding {of.outstanding:,}  oldest {age_text(of.oldest_age)}  {rates}  "
        f"dead letters {of.dead_letters:,}"
    )


WORDS = {"success": "acked", "expired": "acked late", "invalid": "invalid"}


def rate_text(rate: float) -> str:
    """Write a number per second, with more digits if it is small.

    >>> rate_text(0), rate_text(0.25), rate_text(1234.5)
    ('0/s', '0.2/s', '1,234/s')
    """
    return "0/s" if rate == 0 else f"{rate:,.1f}/s" if abs(rate) < 100 else f"{rate:,.0f}/s"


def age_text(seconds: float) -> str:
    """Write an age in its two largest units.

    >>> age_text(4.2), age_text(64), age_text(7300), age_text(200_000)
    ('4s', '1m 4s', '2h 1m', '2d 7h')
    """
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d {hour}h"
    if hours:
        return f"{hour}h {minute}m"
    return f"{minute}m {second}s" if minutes else f"{second}s"
