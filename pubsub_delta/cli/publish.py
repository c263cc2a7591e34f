"""``pubsub-delta topics publish``: one message, or many from a file or a pipe."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import click
from click.shell_completion import CompletionItem

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import TOPIC, FormatType, pairs_option
from pubsub_delta.cli.commands import Command
from pubsub_delta.cli.message_lines import (
    FORMATS,
    JSONL,
    LINES,
    Batch,
    LineFormat,
    OnBadRecord,
    batches,
    format_of,
    open_lines,
)
from pubsub_delta.cli.signals import EndingSignals
from pubsub_delta.cli.topic_schemas import why_not_by_schema
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, counted
from pubsub_delta.policy.messages import refused_message
from pubsub_delta.resources import Message

STANDARD_INPUT = "-"
OWN_FORMATS = (LINES, JSONL)
"""Formats of the input only; csv and json are formats of the output, too."""
MAX_BATCH = 10_000
"""Messages in one publish to a store, which is one commit."""
MAX_REQUEST = 1000
"""Messages in one request to a server (Pub/Sub's limit)."""


class _Format(FormatType):
    """The format of input lines, or of the result."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value in OWN_FORMATS else super().convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        ours = [CompletionItem(kind) for kind in OWN_FORMATS if kind.startswith(incomplete)]
        return [*ours, *super().shell_complete(ctx, param, incomplete)]


def _keep_format(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Keep a format of the result as the global option does."""
    if value is not None and value not in OWN_FORMATS:
        ctx.ensure_object(App).global_options["format"] = value
    return value


@click.command(
    "publish",
    cls=Command,
    examples=[
        "topics publish flights --message=late --attribute=carrier=UA,delay=7",
        "topics publish flights --message=late --ordering-key=N14228",
        "topics publish flights --from=delays.txt",
        "topics publish flights --from=- --format=jsonl < delays.jsonl",
    ],
)
@click.argument("topic", type=TOPIC)
@click.option("--message", help="The data of the message.")
@pairs_option("--attribute", help="The attributes of the message, or of each message.")
@click.option("--ordering-key", default="", help="Messages of one key are delivered in order.")
@click.option(
    "--from",
    "source",
    metavar="FILE|-",
    type=click.Path(allow_dash=True),
    help=(
        "Publish the lines of a file, or of standard input, one message a line; from a file that "
        "ends in .csv, .json, .jsonl or .ndjson, its rows or objects."
    ),
)
@click.option(
    "--format",
    "format_",
    type=_Format(),
    callback=_keep_format,
    help=(
        "With --from: lines, each of which is a message; jsonl: objects with data, attributes "
        "and orderingKey; csv or json: rows or objects, each of which is the data of a message. "
        "Without --from, the format of the ids: table, json, yaml, csv or value."
    ),
)
@click.option(
    "--bad-records",
    "bad_records",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help=(
        "With --from: add records that are not messages to this file, as JSON, and publish the "
        "rest."
    ),
)
@click.option(
    "--base64", is_flag=True, help="With --format=jsonl: data is in base64, as a pull prints it."
)
@click.pass_obj
def publish(
    app: App,
    topic: str,
    message: str | None,
    attribute: dict[str, str],
    ordering_key: str,
    source: str | None,
    format_: str | None,
    bad_records: Path | None,
    base64: bool,
) -> None:
    """Publish a message and print its id, or publish the lines of a file and print their number."""
    name = app.topic(topic)
    if source is not None:
        _check_options(app, source, message, format_, base64=base64)
        form = LineFormat(format_ or format_of(source), attribute, ordering_key, base64)
        signals = EndingSignals()
        with signals.handled():
            _publish_lines(app, name, source, form, bad_records, signals)
        return
    if format_ in OWN_FORMATS or base64 or bad_records is not None:
        wording = "--base64" if base64 else f"--format={format_}"
        wording = wording if bad_records is None else "--bad-records"
        raise click.UsageError(f"{wording} needs --from, and says how its lines are read")
    data = (message or "").encode("utf-8", "surrogateescape")
    given = Message(data, attribute, ordering_key)
    ids = app.call(lambda store: list(store.publish(name, [given]).message_ids))
    try:
        app.show({"messageIds": ids})
    except FailedPrecondition as error:  # of the output: the message must not be sent again
        raise FailedPrecondition(f"{error}; the message was published as {ids[0]}") from None


def _check_options(
    app: App, source: str, message: str | None, format_: str | None, *, base64: bool
) -> None:
    if message is not None:
        raise click.UsageError("--message and --from exclude each other; one of them is accepted")
    if format_ not in (None, *FORMATS):
        raise click.UsageError(
            f"--format={format_}: with --from, one of {', '.join(FORMATS)} is accepted"
        )
    if base64 and format_ != JSONL:
        raise click.UsageError(
            "--base64 needs --format=jsonl: it says how the data of JSON objects is read"
        )
    if source == STANDARD_INPUT and app.in_shell:
        raise click.UsageError(
            "--from=-: a shell reads its commands from standard input; a file is accepted"
        )


def _publish_lines(
    app: App,
    topic: str,
    source: str,
    form: LineFormat,
    bad_records: Path | None,
    signals: EndingSignals,
) -> None:
    """Publish lines in batches, and report their number.

    All lines of a file are checked before the first publish. Lines of a pipe can be read only once:
    those before a bad line may be published already, which the error reports. So does the end by a
    signal.
    """
    found = app.call(lambda service: service.get_topic(topic))
    form = replace(form, why_not=why_not_by_schema(app, found))
    where = "standard input" if source == STANDARD_INPUT else source
    most = MAX_BATCH if app.settings.endpoint is None else MAX_REQUEST
    published = count = 0
    bad = None if bad_records is None else _BadRecords(bad_records, where)

    def publish_part(part: Batch) -> None:
        nonlocal published, count
        with signals.put_off():
            app.call(lambda service: service.publish(topic, part.messages))
            published, count = published + len(part), count + 1

    try:
        if bad is None and Path(source).is_file():  # a file can be read twice
            with open_lines(source) as lines:
                for _ in batches(lines, form, where, most):
                    pass
            form = replace(form, why_not=None)  # all lines fit
        with _lines(source) as lines:
            for batch in batches(lines, form, where, most, bad):
                _publish_what_fits(batch, publish_part, where, bad)
    except BaseException as error:
        if published:
            app.print_status(f"Published {counted(published, 'message')} to [{topic}] before that.")
        elif isinstance(error, InvalidArgument):
            raise InvalidArgument(f"{error}; nothing was published") from None
        raise
    wording = f" in {counted(count, 'batch')}" if count else f": {where} has no messages"
    app.print_status(f"Published {counted(published, 'message')} to [{topic}]{wording}.")
    if bad is not None and bad.count:
        app.print_status(f"Added {counted(bad.count, 'bad record')} to [{bad_records}].")


def _publish_what_fits(
    batch: Batch, publish: Callable[[Batch], None], source: str, bad: OnBadRecord | None
) -> None:
    """Publish a batch, in parts if it has messages that are refused."""
    waiting = [batch]
    while waiting:
        part = waiting.pop()
        try:
            publish(part)
        except InvalidArgument as error:
            waiting += _without_refused(part, error, source, bad)


def _without_refused(
    batch: Batch, error: InvalidArgument, source: str, on_bad_record: OnBadRecord | None
) -> list[Batch]:
    """Return what is left of a batch without the message that its publish refused, the last first.

    Its record is a bad one; where these are not kept, the error names it. Nothing of the batch was
    published.
    """
    refused = refused_message(str(error))
    if refused is None or refused[0] >= len(batch):
        raise error
    index, why = refused
    record = batch.records[index]
    if on_bad_record is None:
        raise InvalidArgument(f"{source}: {record.place}: {why}") from None
    on_bad_record(record.place, record.data, why)
    return [part for part in (batch.part(index + 1), batch.part(0, index)) if part]


class _BadRecords:
    """Appends bad records to a file, one JSON object a line."""

    def __init__(self, path: Path, source: str) -> None:
        self.count = 0
        self._path = path
        self._source = source

    def __call__(self, place: str, record: bytes, why: str) -> None:
        wording = {
            "file": self._source,
            "place": place,
            "record": record.decode("utf-8", "backslashreplace"),
            "why": why,
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(wording, ensure_ascii=False)}\n")
        except OSError as error:
            raise FailedPrecondition(
                f"bad_records: {self._path} cannot be written: {error.strerror or error}; choose "
                "another path"
            ) from None
        self.count += 1


@contextmanager
def _lines(source: str) -> Iterator[IO[bytes]]:
    if source == STANDARD_INPUT:
        yield click.open_file(source, "rb")
    else:
        with open_lines(source) as stream:
            yield stream
