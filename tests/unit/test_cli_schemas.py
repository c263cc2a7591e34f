"""``pubsub-delta schemas``, and the schema of a topic: on the store, and answered by a server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpcore")
pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")
from click.testing import CliRunner, Result

from pubsub_delta.cli.main import cli
from pubsub_delta.cli.schemas import _type_and_definition
from pubsub_delta.policy.schemas.revisions import LARGEST_DEFINITION
from tests.unit.schema_cases import (
    AVRO,
    AVRO_INCOMPATIBLE,
    AVRO_WITH_AREA,
    NO_STATE,
    OHIO,
    PROTO,
    STATES,
    UTAH,
)
from tests.unit.serving_world import Terminal, WorldBackend, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

Run = Callable[..., Result]


@pytest.fixture(params=["store", "server"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Run words of a command line, on a store and by a server."""
    backend = WorldBackend()

    def running(terminal: Terminal) -> Run:
        return lambda *words: CliRunner().invoke(cli, words, obj=terminal.app())

    if request.param == "store":
        yield running(Terminal(backend, None))
    else:
        with served(backend) as address:
            yield running(Terminal(backend, address))


def done(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stderr


def shown(result: Result) -> Any:
    done(result)
    return json.loads(result.stdout)


def create(run: Run, definition: str = AVRO, type_: str = "avro") -> str:
    """Create the schema, and return its revision."""
    words = ("schemas", "create", "states", f"--type={type_}", f"--definition={definition}")
    return str(shown(run(*words, "--format=json"))[0]["revisionId"])


def commit(run: Run, definition: str = AVRO_WITH_AREA) -> str:
    words = ("schemas", "commit", "states", "--type=avro", f"--definition={definition}")
    return str(shown(run(*words, "--format=json"))[0]["revisionId"])


def test_a_schema_is_created_shown_and_listed(run: Run) -> None:
    words = ("--type=PROTOCOL_BUFFER".replace("_", "-"), f"--definition={PROTO}")
    assert done(run("schemas", "create", "states", *words)) == f"Created schema [{STATES}].\n"
    found = shown(run("schemas", "describe", "states", "--format=json"))
    assert re.fullmatch("[0-9a-f]{8}", found["revisionId"])
    assert found.keys() == {"name", "type", "definition", "revisionId", "revisionCreateTime"}
    assert (found["name"], found["type"], found["definition"]) == (
        STATES,
        "PROTOCOL_BUFFER",
        PROTO,
    )
    assert shown(run("schemas", "list", "--format=json")) == [found]
    assert shown(run("schemas", "list-revisions", "states", "--format=json")) == [found]
    assert "Listed 0 items" in done(run("schemas", "list", "--project=other"))


def test_a_definition_comes_from_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "states.avsc"
    file.write_bytes(b"\xef\xbb\xbf" + AVRO.encode())  # as an editor of Windows saves it
    done(run("schemas", "create", "states", "--type=avro", f"--definition-file={file}"))
    assert shown(run("schemas", "describe", "states", "--format=json"))["definition"] == AVRO
    for size in (LARGEST_DEFINITION, LARGEST_DEFINITION + 1):  # which the store refuses
        file.write_bytes(b"x" * size)
        assert len(_type_and_definition("avro", None, str(file))[1]) == size
    absent = run("schemas", "create", "more", "--type=avro", "--definition-file=absent.avsc")
    assert absent.exit_code == 1
    assert "'absent.avsc' cannot be read" in absent.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["create", "more"], "--type is needed"),
        (["create", "more", "--type=avro"], "either --definition or --definition-file"),
        (["create", "more", "--type=json", "--definition=x"], "is not one of 'avro'"),
        (["validate-message", "--message=x", "--message-encoding=json"], "--type is needed"),
        (
            [
                "validate-message",
                "--message=x",
                "--message-encoding=json",
                "--schema-name=a",
                "--type=avro",
            ],
            "--schema-name, or --type",
        ),
    ],
)
def test_a_wrong_command_line_has_exit_code_2(run: Run, words: list[str], told: str) -> None:
    result = run("schemas", *words)
    assert result.exit_code == 2
    assert told in result.stderr


def test_revisions_are_committed_listed_rolled_back_and_deleted(run: Run) -> None:
    first = create(run)
    words = ("schemas", "commit", "states", "--type=avro", f"--definition={AVRO_WITH_AREA}")
    told = done(run(*words))
    assert re.fullmatch(rf"Committed schema revision \[{STATES}@[0-9a-f]{{8}}\].\n", told)
    done(run("schemas", "rollback", "states", f"--revision-id={first}"))
    list_all = shown(run("schemas", "list-revisions", "states", "--format=json"))
    assert [each["definition"] for each in list_all] == [AVRO, AVRO_WITH_AREA, AVRO]
    assert shown(run("schemas", "list-revisions", "states", "--limit=1", "--format=json")) == [
        list_all[0]
    ]
    described = shown(run("schemas", "describe", f"states@{first}", "--format=json"))
    assert described == list_all[2]
    gone = f"Deleted schema revision [{STATES}@{first}].\n"
    assert done(run("schemas", "delete-revision", f"states@{first}", "--quiet")) == gone
    assert run("schemas", "describe", f"states@{first}").exit_code == 1


def test_an_incompatible_revision_is_an_error(run: Run) -> None:
    first = create(run)
    result = run("schemas", "commit", "states", "--type=avro", f"--definition={AVRO_INCOMPATIBLE}")
    assert result.exit_code == 1
    assert "INVALID_ARGUMENT: definition: the revision is incompatible" in result.stderr
    assert f"the previous revision {first}:" in result.stderr


def test_definitions_and_messages_are_validated(run: Run) -> None:
    create(run)
    validate = ("schemas", "validate-schema", "--type=avro")
    assert done(run(*validate, f"--definition={AVRO}")) == "Schema is valid.\n"
    assert run(*validate, "--definition={}").exit_code == 1
    words = ("schemas", "validate-message", "--message-encoding=JSON")
    good, bad = (f"--message={each.decode()}" for each in (UTAH, NO_STATE))
    for against in (["--schema-name=states"], ["--type=avro", f"--definition={AVRO}"]):
        assert done(run(*words, good, *against)) == "Message is valid.\n"
        result = run(*words, bad, *against)
        assert result.exit_code == 1
        assert "INVALID_ARGUMENT: message: it does not fit" in result.stderr


def settings(run: Run) -> Any:
    return shown(run("topics", "describe", "flights", "--format=json")).get("schemaSettings")


def test_a_topic_is_created_with_a_schema_and_revisions(run: Run) -> None:
    first = create(run)
    second = commit(run)
    words = ("--schema=states", "--message-encoding=json", f"--first-revision-id={first}")
    done(run("topics", "create", "flights", *words, f"--last-revision-id={second}"))
    assert settings(run) == {
        "schema": STATES,
        "encoding": "JSON",
        "firstRevisionId": first,
        "lastRevisionId": second,
    }
    done(run("topics", "publish", "flights", f"--message={OHIO.decode()}"))
    result = run("topics", "publish", "flights", f"--message={NO_STATE.decode()}")
    assert result.exit_code == 1
    assert "does not fit schema" in result.stderr


def test_a_topics_schema_is_changed_and_cleared(run: Run) -> None:
    first = create(run)
    done(run("topics", "create", "flights", "--schema=states", "--message-encoding=json"))
    done(run("topics", "update", "flights", f"--last-revision-id={first}"))
    assert settings(run) == {"schema": STATES, "encoding": "JSON", "lastRevisionId": first}
    done(run("topics", "update", "flights", "--message-encoding=binary"))
    assert settings(run) == {"schema": STATES, "encoding": "BINARY", "lastRevisionId": first}
    done(run("topics", "update", "flights", "--schema=states", "--message-encoding=json"))
    assert settings(run) == {"schema": STATES, "encoding": "JSON"}
    done(run("topics", "update", "flights", "--clear-schema-settings"))
    assert settings(run) is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["create", "more", "--schema=states"], "--message-encoding is needed"),
        (["create", "more", "--message-encoding=json"], "--schema is needed"),
        (["update", "flights", "--first-revision-id=x"], "--schema is needed"),
        (["update", "flights", "--schema=states", "--clear-schema-settings"], "schema"),
    ],
)
def test_what_belongs_together_is_given_together(run: Run, words: list[str], told: str) -> None:
    create(run)
    done(run("topics", "create", "flights"))
    result = run("topics", *words)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_deleted_schema_is_told(run: Run) -> None:
    create(run)
    done(run("topics", "create", "flights", "--schema=states", "--message-encoding=json"))
    assert done(run("schemas", "delete", "states", "--quiet")) == f"Deleted schema [{STATES}].\n"
    assert settings(run) == {"schema": "_deleted-schema_", "encoding": "JSON"}
    assert run("schemas", "delete", "states", "--quiet").exit_code == 1
