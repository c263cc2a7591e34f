"""A subscription on a store in memory, and command lines that pull from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from click.testing import CliRunner, Result

from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from tests.unit.serving_world import WorldBackend

DATA = "--format=value(message.data.decode(base64))"


class World:
    """A subscription, and command lines in a process that may be interrupted where it waits."""

    def __init__(self, **fields: Any) -> None:
        self.backend = WorldBackend()
        self.store = self.backend.store
        self.store.create_topic("flights")
        self.store.create_subscription("delays", "flights", **fields)
        self.address: str | None = None
        self.waited: list[float] = []
        self.meanwhile: list[Callable[[], object]] = []

    def pause(self, seconds: float) -> None:
        """Wait: something happens, or else Ctrl+C comes."""
        self.waited.append(seconds)
        self.backend.clock.advance(seconds)
        self.meanwhile.pop(0)() if self.meanwhile else interrupt()

    def run(self, *options: str) -> Result:
        where = {"ROOT": "/r"} if self.address is None else {"ENDPOINT": self.address}
        app = App(
            lambda said: self.backend.open(said.project),
            self.backend.clock,
            {f"PUBSUB_DELTA_{name}": text for name, text in where.items()},
            pause=self.pause,
        )
        return CliRunner().invoke(cli, ["subscriptions", "pull", "delays", *options], obj=app)

    @property
    def undelivered(self) -> int:
        return int(self.store.metrics("delays")["num_undelivered_messages"])

    @property
    def outstanding(self) -> int:
        return int(self.store.metrics("delays")["num_outstanding_messages"])


def interrupt() -> None:
    raise KeyboardInterrupt
