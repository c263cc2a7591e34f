"""Requests to a server one after the other, with all that it answers in JSON.

A transcript is a file of ``rest_transcripts/``: ``>`` begins a request below ``/v1/projects/local``
and may have a body, ``@`` lets seconds pass; the status and the answer follow. ``{ids}`` stands for
the ack ids of the last answer that had some. ``python -m tests.unit.test_rest_transcripts`` sends
the requests and writes what is answered now, to be read in the diff.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("grpc")
pytest.importorskip("httpx2")

import httpx2

from tests.unit.serving_world import WorldBackend, served, without_ids

FOLDER = Path(__file__).with_name("rest_transcripts")


def answers(transcript: str) -> Iterator[str]:
    """Send the requests of a transcript to a server of their own; return its lines as of now."""
    backend = WorldBackend()
    ids = "[]"
    with served(backend) as address, httpx2.Client(base_url=f"http://{address}") as client:
        for line in transcript.splitlines():
            if line.startswith(("#", "@ ")):
                yield line
            if line.startswith("@ "):
                backend.clock.advance(float(line[2:]))
            if not line.startswith("> "):
                continue
            yield line
            verb, path, body = [*line[2:].split(" ", 2), ""][:3]
            found = client.request(
                verb,
                f"/v1/projects/local{path}",
                content=body.replace("{ids}", ids),
                headers={"Content-Type": "application/json"},
            )
            pulled = re.findall(r'"ackId": ?"([^"]+)"', found.text)
            ids = json.dumps(pulled) if pulled else ids
            answer = found.json()
            told = json.dumps(answer, indent=None if "error" in answer else 1, ensure_ascii=False)
            yield str(found.status_code)
            yield without_ids(told)
            yield ""


@pytest.mark.parametrize("name", sorted(each.stem for each in FOLDER.iterdir()))
def test_a_server_answers_what_the_transcript_says(name: str) -> None:
    kept = FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8")
    assert "\n".join(answers(kept)) == kept


if __name__ == "__main__":
    for file in FOLDER.iterdir():
        file.write_text("\n".join(answers(file.read_text(encoding="utf-8"))), encoding="utf-8")
