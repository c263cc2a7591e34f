"""Options that say something of another one are refused without it, before anything is asked."""

from __future__ import annotations

import pytest

from tests.unit.test_cli_arguments import Noting, run


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "subscriptions create sss --topic=ttt --max-delivery-attempts=5",
            "--max-delivery-attempts needs --dead-letter-topic",
        ),
        (
            "subscriptions create sss --topic=ttt --dead-letter-topic-project=p",
            "--dead-letter-topic-project needs --dead-letter-topic",
        ),
        (
            "subscriptions update sss --dead-letter-topic-project=p",
            "--dead-letter-topic-project needs --dead-letter-topic",
        ),
        ("subscriptions create sss --topic=ttt --use-topic-schema", "-schema needs --table"),
        ("subscriptions create sss --topic=ttt --write-metadata", "--write-metadata needs --table"),
        ("subscriptions update sss --drop-unknown-fields", "--drop-unknown-fields needs --table"),
        ("subscriptions update sss", "nothing to update; at least one option is needed"),
        ("snapshots update nnn", "nothing to update; at least one option is needed"),
    ],
)
def test_an_option_without_the_one_that_it_needs_is_refused(line: str, told: str) -> None:
    store = Noting()
    result = run(store, *line.split())
    assert (result.exit_code, store.calls) == (2, [])
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
