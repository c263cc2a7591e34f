"""Commands whose standard streams are closed or full, as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"env -u PYTHONUNBUFFERED {sys.executable} -c 'from pubsub_delta.cli import run; run()'"
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")


def sh(line: str, root: Path) -> subprocess.CompletedProcess[str]:
    script = f'pubsub() {{ {COMMAND} --root="$0" "$@"; }}; {line}'
    return subprocess.run(
        ["sh", "-c", script, str(root)], capture_output=True, text=True, check=False
    )


def test_without_standard_output_nothing_is_done(tmp_path: Path) -> None:
    """What a command has done would be told as failed when it prints, and done again."""
    ended = sh("pubsub topics create orders >&-", tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("ERROR: (pubsub-delta) FAILED_PRECONDITION: standard output is")
    assert sh("pubsub topics list", tmp_path).stderr == "Listed 0 items.\n"


@FULL
def test_messages_come_again_that_a_full_disk_did_not_take(tmp_path: Path) -> None:
    """What could not be printed then comes again, if its status was not to be shown."""
    made = "pubsub topics create orders && pubsub subscriptions create billing --topic=orders"
    assert sh(f"{made} && pubsub topics publish orders --message=a", tmp_path).returncode == 0
    pull = "pubsub subscriptions pull billing --format='value(message.data)'"
    ended = sh(f"{pull} --auto-ack > /dev/full", tmp_path)
    assert (ended.returncode, ended.stderr) == (
        1,
        "ERROR: (pubsub-delta.subscriptions.pull) FAILED_PRECONDITION: "
        "standard output cannot be written: No space left on device\n",
    )
    assert sh(pull, tmp_path).stdout == "a\n"


@FULL
def test_a_message_whose_id_a_full_disk_did_not_take_is_told_as_published(tmp_path: Path) -> None:
    """Else it is published again: an error says what was done, if that is not nothing."""
    made = "pubsub topics create orders && pubsub subscriptions create billing --topic=orders"
    assert sh(made, tmp_path).returncode == 0
    ended = sh("pubsub topics publish orders --message=a > /dev/full", tmp_path)
    assert ended.returncode == 1
    shown = sh("pubsub subscriptions pull billing --format='value(message.messageId)'", tmp_path)
    assert ended.stderr == (
        "ERROR: (pubsub-delta.topics.publish) FAILED_PRECONDITION: standard output cannot be "
        "written: No space left on device; the message was published as "
        f"{shown.stdout.strip()}\n"
    )


@FULL
@pytest.mark.parametrize("output", ["> /dev/full", "| sleep 0"])
def test_messages_are_given_back_whose_ack_ids_nobody_sees(output: str, tmp_path: Path) -> None:
    """A pull leases for whoever gets the ack ids: else messages are stuck, and then have failed."""
    made = "pubsub topics create orders && pubsub subscriptions create billing --topic=orders"
    made += " --ack-deadline=600 && pubsub topics publish orders --message=a"
    assert sh(made, tmp_path).returncode == 0
    pull = "pubsub subscriptions pull billing --format='value(message.data)'"
    sh(f"{pull} {output}", tmp_path)
    assert sh(pull, tmp_path).stdout == "a\n"


@FULL
@pytest.mark.parametrize(
    "line",
    ["--version", "topics --help", "completion bash", "subscriptions watch billing --count=1"],
)
def test_a_full_disk_is_told_in_one_line(line: str, tmp_path: Path) -> None:
    sh("pubsub topics create orders; pubsub subscriptions create billing --topic=orders", tmp_path)
    ended = sh(f"pubsub {line} > /dev/full", tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.endswith(
        " FAILED_PRECONDITION: standard output cannot be written: No space left on device\n"
    )
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("line", ["subscriptions pull --help", "subscriptions pull billing"])
def test_an_output_without_a_letter_is_told_in_one_line(line: str, tmp_path: Path) -> None:
    """Errors are one line; with what would be accepted."""
    made = "pubsub topics create orders && pubsub subscriptions create billing --topic=orders"
    sh(f"{made} && pubsub topics publish orders --message=a", tmp_path)
    ended = sh(f"export PYTHONIOENCODING=latin-1; pubsub {line}", tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert "FAILED_PRECONDITION: standard output cannot be written: its encoding" in ended.stderr
    assert "PYTHONIOENCODING=utf-8" in ended.stderr


@FULL
def test_what_was_done_is_done_though_standard_error_is_full(tmp_path: Path) -> None:
    """gcloud prints what it has created on standard error, and its exit code tells."""
    assert sh("pubsub topics create orders 2> /dev/full", tmp_path).returncode == 0
    assert sh("pubsub topics create orders 2> /dev/full", tmp_path).returncode == 1


@pytest.mark.parametrize("closed", [(0,), (2,), (0, 2)])
def test_no_file_gets_the_descriptor_of_a_closed_stream(closed: tuple[int, ...]) -> None:
    """What a library writes to standard error would be written into a table otherwise."""
    program = (
        "import os\n"
        "from pubsub_delta.cli.standard_streams import open_closed_streams\n"
        f"for each in {closed}: os.close(each)\n"
        "open_closed_streams()\n"
        "print(os.open('/dev/null', os.O_RDONLY) > 2)\n"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout == b"True\n"
