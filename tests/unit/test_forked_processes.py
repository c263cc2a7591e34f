"""What a forked process is told that cannot work: an error of this library, and at once.

Each program runs in a process of its own, which forks another.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

FORKING = """
import os, sys, threading
from pubsub_delta import PubSub

def tell(name, call):
    try:
        found = call()
    except BaseException as error:
        found = f"{type(error).__name__}: {error}"
    print(name, found, sep=": ", flush=True)

def fork(act):
    child = os.fork()
    if not child:
        try:
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""

OPENED = """
store = PubSub(None, "./store")
store.create_topic("flights")
store.create_subscription("first", "flights")
store.publish("flights", [b"a"])
publisher = store.publisher("flights")
held = store.tables.lanes.control.open_tables._handle(store.tables.layout.subscriptions).lock
taken, done = threading.Event(), threading.Event()

def hold():
    with held:
        taken.set()
        done.wait()

threading.Thread(target=hold).start()
taken.wait()

def child():
    tell("pull", lambda: store.pull("first").message_count)
    tell("another store", lambda: PubSub(None, "./store").pull("first").message_count)
    tell("publish", lambda: publisher.publish(b"b"))
    tell("flush", publisher.flush)
    publisher.stop()

fork(child)
done.set()
publisher.stop()
tell("parent", lambda: [m.data for m in store.pull("first")])
"""

BEFORE = """
store = PubSub(None, "./store")

def child():
    store.create_topic("flights")
    tell("publish", lambda: list(store.publish("flights", [b"a"]).message_ids))

fork(child)
"""

BY_ANOTHER = """
from deltalake import DeltaTable
import pyarrow
DeltaTable.create("./other", pyarrow.schema([("a", pyarrow.int64())]))
store = PubSub(None, "./store")
fork(lambda: tell("publish", lambda: store.create_topic("flights")))
"""


PULLING = """
store = PubSub(None, "./store")
store.create_topic("flights")
store.create_subscription("first", "flights")
publisher = store.publisher("flights")
store.publish("flights", [b"a"])
called = threading.Event()
messages = []
pull = store.subscribe("first", lambda message: (messages.append(message), called.set()))
called.wait()

def child():
    message = messages[0]
    tell("ack", message.ack)
    tell("nack", message.nack_with_response)
    tell("deadline", lambda: message.modify_ack_deadline(30))
    tell("result", pull.result)
    tell("cancel", pull.cancel)
    tell("resume", lambda: publisher.resume_publish("key"))

fork(child)
messages[0].ack()
pull.cancel()
publisher.stop()
tell("parent", lambda: store.pull("first").message_count)
"""

EXPORTING = """
import signal
store = PubSub(None, "./store")
store.create_topic("flights")
exporter = store.metrics_exporter(interval=3600).start()
port = exporter.serve(0)

def child():
    signal.alarm(20)  # whatever waits for ever ends then
    tell("start", exporter.start)
    tell("serve", lambda: exporter.serve(0))
    tell("stop", exporter.stop)

fork(child)
from urllib.request import urlopen
tell("parent", lambda: urlopen(f"http://127.0.0.1:{port}/metrics").status)
exporter.stop()
"""


def lines(tmp_path: Path, program: str) -> dict[str, str]:
    """Run a program, and return what it tells, by name."""
    run = subprocess.run(
        [sys.executable, "-c", FORKING + program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return dict(line.split(": ", 1) for line in run.stdout.splitlines())


def test_a_process_that_was_forked_from_one_with_a_store_is_refused_at_once(tmp_path: Path) -> None:
    """Errors are of the documented classes; nothing waits for a lock that stays taken."""
    told = lines(tmp_path, OPENED)
    for call in ("pull", "another store"):
        assert "FailedPrecondition: process" in told[call]
        assert 'by "spawn" or "forkserver"' in told[call]
    assert told["publish"].startswith("FailedPrecondition: this publisher is that of process")
    assert told["flush"].startswith("FailedPrecondition: this publisher is that of process")
    assert told["parent"] == "[b'a']"


def test_a_process_that_was_forked_before_the_first_use_works(tmp_path: Path) -> None:
    assert lines(tmp_path, BEFORE) == {"publish": "['0']"}


def test_a_fork_after_somebody_elses_use_of_deltalake_is_refused(tmp_path: Path) -> None:
    assert "FailedPrecondition: process" in lines(tmp_path, BY_ANOTHER)["publish"]


def test_a_message_of_a_pull_is_not_answered_in_a_forked_process(tmp_path: Path) -> None:
    """The threads that would write it are in the other process: it would be lost without a word.

    ``multiprocessing`` passes a message to a forked process as it is, and does not pickle it.
    """
    told = lines(tmp_path, PULLING)
    for call in ("ack", "nack", "deadline"):
        assert told[call].startswith("FailedPrecondition: this message is that of process"), call
    assert told["result"].startswith("FailedPrecondition: this StreamingPull is that of process")
    assert told["resume"].startswith("FailedPrecondition: this publisher is that of process")
    assert (told["cancel"], told["parent"]) == ("0", "0")


def test_an_exporter_is_ended_by_the_process_that_began_it(tmp_path: Path) -> None:
    """A forked process has no threads that it could wait for: it waited for ever."""
    pytest.importorskip("prometheus_client")
    told = lines(tmp_path, EXPORTING)
    for call in ("start", "serve"):
        assert told[call].startswith("FailedPrecondition: this exporter is that of process"), call
    assert (told["stop"], told["parent"]) == ("None", "200")
