"""Processes that are killed while they write a subscription to its table: each message is one row.

``KILLS=100 pytest -m trial tests/acceptance/test_table_killed.py`` kills so many.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pubsub_delta import PubSub, TableConfig
from tests.acceptance.processes import python

KILLS = int(os.environ.get("KILLS", "20"))
SEED = 39
WRITER = """
import sys
from pubsub_delta import PubSub
store = PubSub(None, sys.argv[1])
print("ready", flush=True)
while True:
    store.write_table("rows")
"""
ENDING = "from pubsub_delta import PubSub; import sys; PubSub(None, sys.argv[1]).maintain()"


@pytest.mark.trial
def test_killed_writers_leave_each_message_once(tmp_path: Path) -> None:
    # "exactly once": one row for each message, however many writers there are and are killed
    root, table = str(tmp_path / "store"), str(tmp_path / "store" / "tables" / "orders")
    store, draw = PubSub(None, root), random.Random(SEED)
    store.create_topic("orders")
    DeltaTable.create(table, pa.schema([("data", pa.binary())]))
    store.create_subscription("rows", "orders", table_config=TableConfig("orders"))
    sent: list[bytes] = []
    ended = threading.Event()

    def publish() -> None:
        while not ended.wait(0.02):
            some = [b"%06d" % (len(sent) + n) for n in range(draw.randrange(1, 200))]
            store.publish("orders", some)
            sent.extend(some)

    publisher = threading.Thread(target=publish)
    publisher.start()
    steady = python(WRITER, root, cwd=tmp_path)
    try:
        for _ in range(KILLS):
            victim = python(WRITER, root, cwd=tmp_path)
            assert victim.stdout is not None
            assert victim.stdout.readline() == "ready\n"
            time.sleep(draw.random())
            victim.kill()
            victim.wait()
    finally:
        ended.set()
        publisher.join()
        steady.kill()
        steady.wait()
    settle(root, tmp_path, len(sent), table)
    assert sorted(DeltaTable(table).to_pyarrow_table()["data"].to_pylist()) == sent


def settle(root: str, cwd: Path, wanted: int, table: str) -> None:
    """Write what is left, when the leases of those that were killed are over."""
    for _ in range(90):
        assert python(ENDING, root, cwd=cwd).wait() == 0
        if DeltaTable(table).to_pyarrow_table().num_rows >= wanted:
            return
        time.sleep(1)
