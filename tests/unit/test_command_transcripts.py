"""Command lines one after the other, with all that each prints: what a terminal would show.

A transcript is a file of ``command_transcripts/``: ``$`` begins a command of ``pubsub-delta``,
``@`` lets seconds pass, ``!`` begins a line on standard error, and ``(exit 1)`` tells an exit code
that is not 0. ``python -m tests.unit.test_command_transcripts`` runs the commands and writes what
they print now, to be read in the diff.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("google.cloud.pubsub")

from tests.unit.serving_world import Terminal, WorldBackend, without_ids

FOLDER = Path(__file__).with_name("command_transcripts")


def shown(transcript: str) -> Iterator[str]:
    """Run the commands of a transcript on a store of their own; return its lines as of now."""
    backend = WorldBackend()
    terminal = Terminal(backend, None)
    for line in transcript.splitlines():
        if line.startswith("#"):
            yield line
        elif line.startswith("@ "):
            backend.clock.advance(float(line[2:]))
            yield line
        elif line.startswith("$ "):
            yield line
            result = terminal.run(line[2:])
            yield from (each.rstrip() for each in without_ids(result.stdout).splitlines())
            yield from (f"! {each}".rstrip() for each in without_ids(result.stderr).splitlines())
            if result.exit_code:
                yield f"(exit {result.exit_code})"
            yield ""


@pytest.mark.parametrize("name", sorted(each.stem for each in FOLDER.iterdir()))
def test_commands_print_what_the_transcript_says(name: str) -> None:
    kept = FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8")
    assert "\n".join(shown(kept)) == kept.rstrip("\n") + "\n"


if __name__ == "__main__":
    for file in FOLDER.iterdir():
        file.write_text("\n".join(shown(file.read_text(encoding="utf-8"))), encoding="utf-8")
