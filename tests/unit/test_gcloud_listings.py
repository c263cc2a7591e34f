"""Command lines of gcloud with what gcloud printed, and what is printed here.

``gcloud_listings.json`` has what gcloud 528 printed, literally, where a server answered with the
resources and messages that stand there, too. Some lines are refused by both.
"""

from __future__ import annotations

import json
import shlex
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.selection import Selection
from pubsub_delta.cli.printing import chosen_format, render_selected
from pubsub_delta.cli.pull import PULL_FORMAT
from pubsub_delta.cli.snapshots import LISTED
from pubsub_delta.errors import InvalidArgument

GCLOUD: dict[str, Any] = json.loads(
    Path(__file__).with_name("gcloud_listings.json").read_text(encoding="utf-8")
)
NOW = datetime(2026, 11, 26, 3, tzinfo=timezone.utc)


def split(line: str) -> tuple[list[str], dict[str, str]]:
    """Return the words of a command line, and its options."""
    words, options = [], {}
    for each in shlex.split(line):
        if each.startswith("--"):
            name, equals, value = each[2:].partition("=")
            options[name] = value if equals else "true"
        else:
            words.append(each)
    return words, options


def answer(words: list[str], options: dict[str, str]) -> tuple[list[Any], str]:
    """Return the records that a command shows, and its usual format."""
    group, verb, *names = words
    if verb == "pull":
        pulled = GCLOUD["messages"][: int(options.pop("limit", "1"))]
        status = {"ackStatus": "SUCCESS"} if "auto-ack" in options else {}
        return [{**each, **status} for each in pulled], PULL_FORMAT
    if verb == "list-subscriptions":
        found = [each for each in GCLOUD["subscriptions"] if each["topic"].endswith(f"/{names[0]}")]
        return [each["name"] for each in found], "yaml"
    found = GCLOUD["awkward" if options.get("project") == "q" else group]
    if verb == "describe":
        return [each for each in found if each["name"].endswith(f"/{names[0]}")], "yaml"
    if group == "snapshots":
        return [
            {
                **each,
                "projectId": "p",
                "snapshotId": each["name"].split("/")[-1],
                "topicId": each["topic"].split("/")[-1],
            }
            for each in found
        ], LISTED
    return found, "yaml"


def printed(line: str) -> str:
    words, options = split(line)
    records, usual = answer(words, options)
    named = {name.replace("-", "_"): value for name, value in options.items()}
    context = Context(NOW, timezone.utc, named)
    limit = options.get("limit", "unlimited")
    selection = Selection(
        filter=options.get("filter", ""),
        sort_by=[each for each in options.get("sort-by", "").split(",") if each],
        limit=None if limit == "unlimited" else int(limit),
        uri="uri" in options,
    )
    form = chosen_format(options.get("format", ""), usual, selection, context)
    page_size = int(options["page-size"]) if "page-size" in options else None
    single = words[1] == "describe"
    return render_selected(records, form, selection, context, single=single, page_size=page_size)[0]


@pytest.mark.parametrize("line", GCLOUD["printed"])
def test_a_listing_is_printed_as_gcloud_prints_it(line: str) -> None:
    assert printed(line) == GCLOUD["printed"][line]


@pytest.mark.parametrize("line", GCLOUD["refused"])
def test_what_gcloud_refuses_is_refused(line: str) -> None:
    with pytest.raises(InvalidArgument, match=r"^(filter|format): "):
        printed(line)
