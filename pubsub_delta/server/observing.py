"""Metrics by OTLP: the counters that Prometheus gets, under the same names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from pubsub_delta.exporter import family_names
from pubsub_delta.server.exporting import own_names


def observe(meter: Meter, collect: Callable[[], Iterable[Any]]) -> None:
    """Let a meter have all counters of a store and its server; they are collected when it asks."""
    for name, is_counter in {**family_names(), **own_names()}.items():
        make = meter.create_observable_counter if is_counter else meter.create_observable_gauge
        make(name, [_reading(name, collect)])


def _reading(
    name: str, collect: Callable[[], Iterable[Any]]
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(_: CallbackOptions) -> Iterable[Observation]:
        for family in collect():
            if family.name == name:
                for sample in family.samples:
                    if not sample.name.endswith("_created"):
                        yield Observation(sample.value, dict(sample.labels))

    return read
