"""`topics publish --from`: many messages from a file or a pipe, on the store and by a server."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import lzma
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

pytest.importorskip("httpcore")
from click.testing import CliRunner, Result

from pubsub_delta import InvalidArgument, Message, Unavailable
from pubsub_delta.cli import publish as publishing
from pubsub_delta.cli.main import cli
from pubsub_delta.cli.message_lines import MOST_BYTES, LineFormat, batches
from tests.unit.serving_world import Terminal, WorldBackend, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TOPIC = "projects/local/topics/flights"


@pytest.fixture(params=["store", "server"])
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    backend = WorldBackend()
    if request.param == "store":
        yield prepared(Terminal(backend, None))
    else:
        with served(backend) as address:
            yield prepared(Terminal(backend, address))


@pytest.fixture
def store() -> Terminal:
    return prepared(Terminal(WorldBackend(), None))


def prepared(terminal: Terminal) -> Terminal:
    for line in ("topics create flights", "subscriptions create delays --topic=flights"):
        assert terminal.run(line).exit_code == 0
    return terminal


def publish(terminal: Terminal, *words: str, given: bytes | None = None) -> Result:
    line = ["topics", "publish", "flights", *words]
    return CliRunner().invoke(cli, line, obj=terminal.app(), input=given)


def pulled(terminal: Terminal) -> list[dict[str, Any]]:
    shown = terminal.run("subscriptions pull delays --auto-ack --limit=3000 --format=json").stdout
    return [each["message"] for each in json.loads(shown)]


def data_of(messages: list[dict[str, Any]]) -> list[bytes]:
    return [base64.b64decode(each.get("data", "")) for each in messages]


def test_the_mark_that_windows_puts_before_a_text_is_no_part_of_its_first_message(
    terminal: Terminal,
) -> None:
    """U+FEFF "as a signature" of UTF-8 is not text; anywhere else it is."""
    mark = "\ufeff".encode()
    assert not publish(terminal, "--from=-", given=mark + b"UA1\r\n" + mark + b"DL2\r\n").exit_code
    assert data_of(pulled(terminal)) == [b"UA1", mark + b"DL2"]


def test_each_line_is_a_message_and_the_end_tells_how_many(
    terminal: Terminal, tmp_path: Path
) -> None:
    # "one message a line by default", "with a count at the end"
    lines = tmp_path / "delays.txt"
    lines.write_bytes(b"late\n  00501 \r\n\xff\xfe\nlast")
    done = publish(terminal, f"--from={lines}")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"Published 4 messages to [{TOPIC}] in 1 batch.\n"
    assert data_of(pulled(terminal)) == [b"late", b"  00501 ", b"\xff\xfe", b"last"]


def test_standard_input_gives_messages_with_the_attributes_and_key_of_the_options(
    terminal: Terminal,
) -> None:
    words = ("--from=-", "--attribute=carrier=UA", "--ordering-key=N14228")
    assert publish(terminal, *words, given=b"a\n\nb\n").exit_code == 0
    found = pulled(terminal)
    assert data_of(found) == [b"a", b"", b"b"]  # an attribute is enough of a message
    assert {(each["attributes"]["carrier"], each["orderingKey"]) for each in found} == {
        ("UA", "N14228")
    }


def test_objects_have_plain_text_as_data_and_their_own_attributes_and_key(
    terminal: Terminal,
) -> None:
    # "plain text `data` unless `--base64`"
    lines = [
        '{"data": "bGF0ZQ==", "attributes": {"carrier": "DL", "é": ""}, "orderingKey": "k"}',
        "   ",
        '{"data": "é", "attributes": null}',
    ]
    words = ["--from=-", "--format=jsonl", "--attribute=carrier=UA,origin=JFK"]
    words += ["--ordering-key=another"]
    given = "\ufeff" + "\n".join(lines)
    assert publish(terminal, *words, given=given.encode()).exit_code == 0
    first, second = pulled(terminal)
    assert data_of([first, second]) == [b"bGF0ZQ==", "é".encode()]
    assert first["attributes"] == {"carrier": "DL", "origin": "JFK", "é": ""}
    assert (first["orderingKey"], second.get("orderingKey")) == ("k", "another")
    assert second["attributes"] == {"carrier": "UA", "origin": "JFK"}


def test_what_a_pull_prints_is_published_again_as_it_was(terminal: Terminal) -> None:
    # "read what `subscriptions pull --format=json` prints and be symmetric"
    given = {"attributes": {"n": "1"}, "data": "/+8=", "orderingKey": "k"}
    words = ("--from=-", "--format=jsonl", "--base64")
    publish(terminal, *words, given=json.dumps(given).encode())
    publish(terminal, *words, given=b'{"data": "_-8"}')  # as URLs have it, and without padding
    first, second = pulled(terminal)
    assert (first["data"], second["data"]) == ("/+8=", "/+8=")
    again = "\n".join(map(json.dumps, (first, second)))
    assert publish(terminal, *words, given=again.encode()).exit_code == 0
    kept = ("attributes", "data", "orderingKey")
    assert [{name: each.get(name) for name in kept} for each in pulled(terminal)] == [
        {name: each.get(name) for name in kept} for each in (first, second)
    ]


def test_so_is_what_was_published_to_a_topic_with_a_schema(terminal: Terminal) -> None:
    """Its topic has added attributes of Google's to it, which a publish may not have."""
    added = {f"googclient_schema{what}": "x" for what in ("encoding", "name", "revisionid")}
    given = {"data": "a", "attributes": {"n": "1", **added}, "messageId": "7"}
    done = publish(terminal, "--from=-", "--format=jsonl", given=json.dumps(given).encode())
    assert done.exit_code == 0
    assert [each["attributes"] for each in pulled(terminal)] == [{"n": "1"}]
    given["attributes"] = {"googclient_other": "x"}
    refused = publish(terminal, "--from=-", "--format=jsonl", given=json.dumps(given).encode())
    assert "with 'goog'" in refused.stderr


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "not JSON"),
        (b'{"data": "a"} {"data": "b"}', "not JSON: Extra data at character 15"),
        (b'"late"', "not a JSON object"),
        (b'{"data": 7}', "data: 7 is not a string"),
        (b'{"carrier": "UA"}', "'carrier' is not a field of a message"),
        (b'{"data": "a", "data": "b"}', "'data' appears twice"),
        (b'{"data": "a", "attributes": {"n": 1}}', "attributes['n']: 1 is not a string"),
        (b'{"data": "a", "attributes": [1]}', "[1] is not an object"),
        (b'{"data": "\\ud800"}', "half of a surrogate pair"),
        (b'{"data": "\xff"}', "not JSON"),
        (b'{"attributes": {"googclient": "1"}}', "does not start with 'goog'"),
        (b"{}", "data or at least one attribute is required"),
        (b"[" * 100_000, "not JSON"),
        (b'{"data": ' + b"7" * 5_000 + b"}", "a number has too many digits; strings are accepted"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_nothing_is_published(
    store: Terminal, tmp_path: Path, line: bytes, why: str
) -> None:
    # "bad lines named by number"
    lines = tmp_path / "delays.jsonl"
    lines.write_bytes(b'{"data": "fine"}\n\n' + line + b'\n{"data": "fine"}\n')
    refused = publish(store, f"--from={lines}", "--format=jsonl")
    assert refused.exit_code == 1
    assert refused.stderr.startswith(
        f"ERROR: (pubsub-delta.topics.publish) INVALID_ARGUMENT: {lines}: line 3: "
    )
    assert why in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stderr.endswith("; nothing was published\n")
    assert pulled(store) == []


def test_a_file_is_read_to_its_end_before_the_first_of_its_batches_is_published(
    store: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "All lines of a file are checked before the first publish." """
    monkeypatch.setattr(publishing, "MAX_BATCH", 2)
    lines = tmp_path / "delays.txt"
    lines.write_bytes(b"a\nb\nc\n\n")
    refused = publish(store, f"--from={lines}")
    assert refused.stderr.endswith("; nothing was published\n")
    assert pulled(store) == []


def test_data_that_is_no_base64_is_a_bad_line(store: Terminal) -> None:
    words = ("--from=-", "--format=jsonl", "--base64")
    refused = publish(store, *words, given=b'{"data": "late!"}')
    assert "line 1: data: 'late!' is not base64" in refused.stderr


def test_many_bad_lines_are_counted_and_some_are_named() -> None:
    with pytest.raises(InvalidArgument) as refused:
        list(batches([b"\n"] * 12, LineFormat(), "delays.txt", 100))
    assert str(refused.value).startswith("delays.txt: line 1: data or at least one attribute")
    assert "line 10: " in str(refused.value)
    assert "line 11" not in str(refused.value)
    assert str(refused.value).endswith("; and 2 more lines")


def test_lines_are_published_in_batches_of_a_server_s_limits(terminal: Terminal) -> None:
    # Pub/Sub: at most 1,000 messages and 10 MB in a publish request
    given = b"".join(b"%d\n" % number for number in range(2001))
    done = publish(terminal, "--from=-", given=given)
    by_server = "PUBSUB_DELTA_ENDPOINT" in terminal.variables
    told = "3 batches" if by_server else "1 batch"
    assert done.stderr == f"Published 2,001 messages to [{TOPIC}] in {told}.\n"
    received = [each for _ in range(3) for each in data_of(pulled(terminal))]  # 1,000 at a time
    assert sorted(map(int, received)) == list(range(2001))


def test_a_line_ends_with_its_last_carriage_return_and_no_other() -> None:
    r"""A line ends with ``\n`` or ``\r\n``: what is before that is data."""
    (batch,) = batches([b"a\r\r\n", b"b\r\n", b"c\n", b"d\r"], LineFormat(), "-", 100)
    assert [each.data for each in batch.messages] == [b"a\r", b"b", b"c", b"d\r"]


def test_a_batch_that_failed_is_not_told_as_published(
    store: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number tells where to go on: it counts what landed before the error."""
    opened = type(store.app().store)
    publish_all = opened.publish

    def fail(self: Any, topic: str, batch: list[Message]) -> Any:
        if batch[0].data == b"c":
            raise Unavailable("the disk is full")
        return publish_all(self, topic, batch)

    monkeypatch.setattr(publishing, "MAX_BATCH", 2)
    monkeypatch.setattr(opened, "publish", fail)
    told = publish(store, "--from=-", given=b"a\nb\nc\n").stderr.splitlines()
    assert told[0] == f"Published 2 messages to [{TOPIC}] before that."


def test_a_batch_has_at_most_ten_megabytes() -> None:
    line = b"x" * (MOST_BYTES // 2)
    found = batches([line, line, b"y", b"z"], LineFormat(), "-", 100)
    assert [len(each) for each in found] == [2, 2]


def test_of_a_pipe_it_is_told_what_was_published_before_a_bad_line(
    store: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "MAX_BATCH", 2)
    refused = publish(store, "--from=-", given=b"a\nb\nc\n\n")
    told, error = refused.stderr.splitlines()
    assert refused.exit_code == 1
    assert told == f"Published 2 messages to [{TOPIC}] before that."
    assert "standard input: line 4: " in error
    assert "nothing was published" not in error
    assert data_of(pulled(store)) == [b"a", b"b"]


def test_a_named_pipe_is_read_once(store: Terminal, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"late\n",))
    writer.start()
    done = publish(store, f"--from={pipe}")
    writer.join()
    assert done.stderr == f"Published 1 message to [{TOPIC}] in 1 batch.\n"


def test_an_empty_file_is_no_error(store: Terminal, tmp_path: Path) -> None:
    # "Empty input is no error (0 messages published, exit 0, said so)"
    lines = tmp_path / "empty.txt"
    lines.touch()
    done = publish(store, f"--from={lines}")
    assert done.exit_code == 0
    assert done.stderr == f"Published 0 messages to [{TOPIC}]: {lines} has no messages.\n"


def test_an_absent_topic_is_told_before_anything_is_read(store: Terminal) -> None:
    store.run("topics delete flights --quiet")
    assert "NOT_FOUND" in publish(store, "--from=-", given=b"").stderr


@pytest.mark.parametrize(
    ("ending", "packed"),
    [
        (".gz", gzip.compress),
        (".BZ2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", zstd.compress),
    ],
)
def test_a_packed_file_is_unpacked_as_its_name_says(
    store: Terminal, tmp_path: Path, ending: str, packed: Callable[[bytes], bytes]
) -> None:
    lines = tmp_path / f"delays.txt{ending}"
    lines.write_bytes(packed(b"late\nlater\n"))
    assert publish(store, f"--from={lines}").exit_code == 0
    assert data_of(pulled(store)) == [b"late", b"later"]
    lines.write_bytes(packed(b"late\nlater\n")[:-9])
    refused = publish(store, f"--from={lines}")
    assert (refused.exit_code, f"{lines} cannot be read" in refused.stderr) == (1, True)


def test_a_file_that_is_not_there_is_one_line(store: Terminal, tmp_path: Path) -> None:
    refused = publish(store, f"--from={tmp_path / 'absent'}")
    assert refused.exit_code == 1
    assert "absent cannot be read: No such file or directory" in refused.stderr
    told = publish(store, f"--from={tmp_path}").stderr
    assert "cannot be read: Is a directory; pubsub-delta-publish --input reads directories" in told


def test_what_is_not_unpacked_is_refused_with_what_to_do(store: Terminal, tmp_path: Path) -> None:
    lines = tmp_path / "delays.txt.zip"
    lines.touch()
    refused = publish(store, f"--from={lines}")
    assert (
        ".zip is not a compression that --from reads; unpack the file, and pipe" in refused.stderr
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--from=-", "--message=late"], "--message and --from exclude each other"),
        (["--from=-", "--format=yaml"], "with --from, one of lines, jsonl, csv, json is accepted"),
        (["--bad-records=x"], "--bad-records needs --from, and says how its lines are read"),
        (["--format=jsonl"], "--format=jsonl needs --from, and says how its lines are read"),
        (["--base64"], "--base64 needs --from, and says how its lines are read"),
        (["--from=-", "--base64"], "--base64 needs --format=jsonl"),
    ],
)
def test_options_that_do_not_fit_each_other_are_a_wrong_command_line(
    store: Terminal, words: list[str], why: str
) -> None:
    refused = publish(store, *words, given=b"")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert why in refused.stderr


def test_without_a_file_the_format_is_that_of_the_result(store: Terminal) -> None:
    done = publish(store, "--message=late", "--format=value(messageIds)")
    assert (done.exit_code, done.stdout) == (0, "0\n")


def test_in_a_shell_standard_input_is_the_shell_s_own(store: Terminal) -> None:
    app = store.app()
    given = "topics publish flights --from=-\ntopics publish flights --message=late\n"
    done = CliRunner().invoke(cli, ["shell"], obj=app, input=given)
    assert (
        "--from=-: a shell reads its commands from standard input; a file is accepted"
        in done.stderr
    )
    assert data_of(pulled(store)) == [b"late"]
