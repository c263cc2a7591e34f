"""Push subscriptions on the command line, on the store itself and by a server."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpcore")
from tests.endpoints import Pushed, listening
from tests.unit.serving import eventually
from tests.unit.serving_world import Terminal, WorldBackend, served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

URL = "http://127.0.0.1:9/push"
CONFIG = {"pushEndpoint": URL, "attributes": {"x-goog-version": "v1"}}


@pytest.fixture(params=["store", "server"])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    backend = WorldBackend()
    if request.param == "store":
        yield Terminal(backend, None)
    else:
        with served(backend, push_keys=tmp_path / "keys.json") as address:
            yield Terminal(backend, address)


def run(terminal: Terminal, line: str) -> str:
    result = terminal.run(line)
    assert result.exit_code == 0, result.stderr
    return result.stderr


def syntax_error(terminal: Terminal, line: str) -> str:
    result = terminal.run(line)
    assert result.exit_code in (1, 2)
    return result.stderr


def shown(terminal: Terminal) -> Any:
    result = terminal.run("subscriptions describe hook --format=json")
    return json.loads(result.stdout).get("pushConfig")


def test_create_and_update_take_an_endpoint_as_gcloud_does(terminal: Terminal) -> None:
    run(terminal, "topics create flights")
    run(terminal, f"subscriptions create hook --topic=flights --push-endpoint={URL}")
    assert shown(terminal) == CONFIG
    run(terminal, "subscriptions update hook --ack-deadline=20")
    assert shown(terminal) == CONFIG
    run(terminal, f"subscriptions update hook --push-endpoint={URL}/other")
    assert shown(terminal)["pushEndpoint"] == f"{URL}/other"
    run(terminal, "subscriptions update hook --push-endpoint=")
    assert shown(terminal) == {}


def test_modify_push_config_sets_and_clears_the_endpoint(terminal: Terminal) -> None:
    # gcloud pubsub subscriptions modify-push-config SUB --push-endpoint=
    run(terminal, "topics create flights")
    run(terminal, "subscriptions create hook --topic=flights")
    assert shown(terminal) == {}
    done = terminal.run(f"subscriptions modify-push-config hook --push-endpoint={URL}")
    assert done.stdout == "{}\n"  # the answer of ModifyPushConfig is empty, and gcloud prints it
    assert done.stderr == "Updated subscription [projects/local/subscriptions/hook].\n"
    assert shown(terminal) == CONFIG
    run(terminal, f"subscriptions modify-push-config hook --push-endpoint={URL} --push-no-wrapper")
    assert shown(terminal) == {**CONFIG, "noWrapper": {"writeMetadata": False}}
    wide = "--push-no-wrapper --push-no-wrapper-write-metadata"
    run(terminal, f"subscriptions modify-push-config hook --push-endpoint={URL} {wide}")
    assert shown(terminal) == {**CONFIG, "noWrapper": {"writeMetadata": True}}
    run(terminal, "subscriptions modify-push-config hook --push-endpoint=")
    assert shown(terminal) == {}


def test_tokens_are_named_as_gcloud_does(terminal: Terminal) -> None:
    # gcloud pubsub subscriptions create --push-auth-service-account --push-auth-token-audience
    run(terminal, "topics create flights")
    push = f"--push-endpoint={URL} --push-auth-service-account=push@example.com"
    run(terminal, f"subscriptions create hook --topic=flights {push}")
    token = {"serviceAccountEmail": "push@example.com"}
    assert shown(terminal) == {**CONFIG, "oidcToken": token}
    audience = "--push-auth-token-audience=receivers"
    run(terminal, f"subscriptions modify-push-config hook {push} {audience}")
    assert shown(terminal) == {**CONFIG, "oidcToken": {**token, "audience": "receivers"}}
    run(terminal, f"subscriptions modify-push-config hook --push-endpoint={URL}")
    assert shown(terminal) == CONFIG


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("create hook --topic=flights --push-endpoint=example.com", "'example.com' is neither"),
        (
            f"create hook --topic=flights --push-endpoint={URL} --enable-exactly-once-delivery",
            "enable_exactly_once_delivery",
        ),
        ("create hook --topic=flights --push-no-wrapper", "needs --push-endpoint"),
        (
            f"modify-push-config hook --push-endpoint={URL} --push-no-wrapper-write-metadata",
            "needs --push-no-wrapper",
        ),
        (
            f"modify-push-config hook --push-endpoint={URL} --push-auth-token-audience=a",
            "needs --push-auth-service-account",
        ),
        ("create hook --topic=flights --push-auth-service-account=a@b.c", "needs --push-endpoint"),
        (
            f"create hook --topic=flights --push-endpoint={URL} --push-auth-service-account=a",
            "push_config.oidc_token.service_account_email: 'a' is not an address",
        ),
        ("modify-push-config hook", "Missing option '--push-endpoint'"),
        ("modify-push-config hook --push-endpoint=", "NOT_FOUND"),
    ],
)
def test_what_is_not_accepted_is_told(terminal: Terminal, line: str, told: str) -> None:
    run(terminal, "topics create flights")
    assert told in syntax_error(terminal, f"subscriptions {line}")


def test_what_is_published_is_pushed_with_its_delivery_attempt() -> None:
    backend = WorldBackend()

    def answer(_: Pushed) -> int:
        return 200 if len(endpoint.requests) == 3 else 500

    with listening(answer) as endpoint, served(backend) as address:
        terminal = Terminal(backend, address)
        run(terminal, "topics create flights")
        run(terminal, "topics create failed")
        push = f"--push-endpoint={shlex.quote(endpoint.url)} --dead-letter-topic=failed"
        run(terminal, f"subscriptions create hook --topic=flights {push}")
        run(terminal, "topics publish flights --message=late --attribute=carrier=UA")
        eventually(lambda: backend.counted.pushes["200"])
        assert "FAILED_PRECONDITION" in syntax_error(terminal, "subscriptions pull hook")
    assert endpoint.data == [b"late"] * 3
    assert [each.attempt for each in endpoint.requests] == [1, 2, 3]
    assert endpoint.requests[0].told["subscription"] == "projects/local/subscriptions/hook"
