"""``pubsub-delta subscriptions watch``: prints a subscription's metrics as they change."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import timedelta

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import SUBSCRIPTION, DurationType
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.printing import RecordStream
from pubsub_delta.cli.rest import time_text
from pubsub_delta.cli.samples import WORDS, Sample, age_text, rate_text, sample

SHORTEST = timedelta(seconds=0.1)
_FIELDS = (
    "time,num_undelivered_messages,num_outstanding_messages,oldest_unacked_message_age,"
    "acks_per_second.success:label=acks_per_second,"
    "acks_per_second.expired:label=expired_per_second,"
    "acks_per_second.invalid:label=invalid_per_second,"
    "dead_letter_message_count"
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
@click.pass_obj
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
        if sys.stdout.isatty() and not dumb and not app.settings.format:
            from pubsub_delta.cli.panel import show_live  # rich takes a while to import

            show_live(name, interval, samples)
        else:
            for text in _written(app, samples):
                app.print(text)
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
    if not app.settings.format:
        yield from (f"{line_of(each)}\n" for each in samples)
        return
    written = RecordStream(lambda: app.format(f"value({_FIELDS})"))
    yield from (written.text([each.record()]) for each in samples)


def line_of(of: Sample) -> str:
    """Write a sample as one line."""
    rates = "  ".join(f"{WORDS[name]} {rate_text(rate)}" for name, rate in of.rates.items())
    return (
        f"{time_text(of.time.replace(microsecond=0))}  backlog {of.undelivered:,}  "
        f"outstanding {of.outstanding:,}  oldest {age_text(of.oldest_age)}  {rates}  "
        f"dead letters {of.dead_letters:,}"
    )
