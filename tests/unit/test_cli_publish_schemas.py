"""``topics publish --from`` to a topic with a schema: what does not fit is told by its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpcore")
pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

from pubsub_delta.cli import publish as publishing
from pubsub_delta.cli import topic_schemas
from tests.unit.schema_cases import AVRO, AVRO_WITH_AREA, PROTO
from tests.unit.serving_world import Terminal, WorldBackend, served
from tests.unit.test_cli_publish import TOPIC, data_of, publish, pulled

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

FIT = b'{"name": "Utah"}'
MISFIT = b'{"nam": "Utah"}'
WHY = "data: it does not fit schema projects/local/schemas/states in JSON: "


@pytest.fixture(params=["store", "server"])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    backend = WorldBackend()
    if request.param == "store":
        yield with_states(Terminal(backend, None), tmp_path)
    else:
        with served(backend) as address:
            yield with_states(Terminal(backend, address), tmp_path)


def with_states(terminal: Terminal, directory: Path) -> Terminal:
    """Return a terminal whose topic takes states in JSON."""
    define(terminal, "create", directory, AVRO)
    terminal.run("topics create flights --schema=states --message-encoding=json")
    terminal.run("subscriptions create delays --topic=flights")
    return terminal


def define(terminal: Terminal, verb: str, directory: Path, text: str, kind: str = "avro") -> None:
    (directory / "definition").write_text(text)
    of = f"--type={kind} --definition-file={directory / 'definition'}"
    assert terminal.run(f"schemas {verb} states {of}").exit_code == 0


def written(directory: Path, *lines: bytes) -> Path:
    path = directory / "states.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def places(path: Path) -> list[tuple[str, str, bool]]:
    found: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    return [(each["place"], each["record"], each["why"].startswith(WHY)) for each in found]


def test_it_is_named_by_its_line_and_nothing_of_its_file_is_published(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guide: "The error names bad lines by their numbers. Of a file nothing is published then"."""
    for name in ("MAX_BATCH", "MAX_REQUEST"):
        monkeypatch.setattr(publishing, name, 2)
    lines = written(tmp_path, FIT, b"", FIT, FIT, MISFIT, b'{"name": 7}')
    refused = publish(terminal, f"--from={lines}")
    assert (refused.exit_code, refused.stderr.count("nothing was published")) == (1, 1)
    assert f"{lines}: line 5: {WHY}field 'name' is missing" in refused.stderr
    assert "line 6: " in refused.stderr
    assert pulled(terminal) == []


def test_it_is_a_bad_record_and_the_rest_is_published(terminal: Terminal, tmp_path: Path) -> None:
    lines, bad = written(tmp_path, FIT, MISFIT, b'{"name": "Ohio"}'), tmp_path / "bad.jsonl"
    done = publish(terminal, f"--from={lines}", f"--bad-records={bad}")
    assert done.exit_code == 0, done.stderr
    assert data_of(pulled(terminal)) == [FIT, b'{"name": "Ohio"}']
    assert places(bad) == [("line 2", MISFIT.decode(), True)]


def test_of_a_pipe_it_is_told_what_was_published_before_it(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAX_BATCH", "MAX_REQUEST"):
        monkeypatch.setattr(publishing, name, 2)
    given = b"\n".join([FIT, FIT, FIT, MISFIT])
    told, error = publish(terminal, "--from=-", given=given).stderr.splitlines()
    assert told == f"Published 2 messages to [{TOPIC}] before that."
    assert f"standard input: line 4: {WHY}" in error
    assert "nothing was published" not in error


@pytest.mark.parametrize("kind", ["avro", "protocol-buffer"])
def test_a_line_fits_each_revision_that_the_topic_takes(
    terminal: Terminal, tmp_path: Path, kind: str
) -> None:
    if kind == "avro":
        define(terminal, "commit", tmp_path, AVRO_WITH_AREA)
    else:
        terminal.run("schemas delete states --quiet")
        define(terminal, "create", tmp_path, PROTO, kind)
        update = "topics update flights --schema=states --message-encoding=json"
        assert terminal.run(update).exit_code == 0
    lines = written(tmp_path, FIT, MISFIT)
    assert f"{lines}: line 2: {WHY}" in publish(terminal, f"--from={lines}").stderr
    assert publish(terminal, f"--from={written(tmp_path, FIT)}").exit_code == 0


def test_where_the_schema_cannot_be_read_the_refused_publish_names_the_line(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may show the schema to nobody, and it may change after the lines were checked."""
    monkeypatch.setattr(topic_schemas, "why_not_by_schema", lambda *_: None)
    monkeypatch.setattr(publishing, "why_not_by_schema", lambda *_: None)
    lines, bad = written(tmp_path, FIT, MISFIT, FIT, MISFIT, FIT, FIT), tmp_path / "bad.jsonl"
    refused = publish(terminal, f"--from={lines}").stderr
    assert f"{lines}: line 2: {WHY}field 'name' is missing" in refused
    assert refused.count("nothing was published") == 1
    done = publish(terminal, f"--from={lines}", f"--bad-records={bad}")
    assert done.exit_code == 0, done.stderr
    assert data_of(pulled(terminal)) == [FIT] * 4
    assert places(bad) == [(f"line {n}", MISFIT.decode(), True) for n in (2, 4)]
    assert "Published 4 messages" in done.stderr


def test_a_topic_whose_schema_is_deleted_tells_so(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("schemas delete states --quiet")
    refused = publish(terminal, f"--from={written(tmp_path, FIT)}")
    assert "FAILED_PRECONDITION: the schema of topic" in refused.stderr
