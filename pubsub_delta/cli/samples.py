"""Samples of a subscription's metrics, and the texts that show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pubsub_delta.cli.rest import Record, time_text


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
    """Return a sample; the rates of the first one are 0.

    So are those of a subscription that was created again: its counts begin anew.
    """
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
        rates={name: max(0, n - known.get(name, 0)) / (seconds or 1) for name, n in acks.items()},
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
