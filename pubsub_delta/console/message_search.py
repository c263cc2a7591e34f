"""The search for messages of a topic or subscription: its page, results and downloads."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import IO, Annotated, Any, Literal
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from pubsub_delta.clock import rfc3339
from pubsub_delta.console.context import Console, address, console_of
from pubsub_delta.console.jobs import WAIT_SECONDS
from pubsub_delta.console.responses import error_page, redirect, render
from pubsub_delta.console.search_form import STATES, SearchForm, read_search_form
from pubsub_delta.console.searches import PREVIEW_BYTES, BackgroundSearch
from pubsub_delta.errors import InvalidArgument
from pubsub_delta.operations.find import FoundMessage, MessageSearch
from pubsub_delta.policy.message_queries import MessageQuery

router = APIRouter()

Kind = Literal["topics", "subscriptions"]
MOST_LIVE = 500
"""The number of rows from which newer messages are no longer added to a list."""
_LONGEST = timedelta(seconds=5)
"""The longest search for newer messages in one request of a page."""
_PART = 256 * 1024
"""Bytes of a download that are sent at a time."""
_UNKNOWN_SEARCH = "This search is not kept any more; search again."


def full_name(console: Console, kind: str, id_: str) -> str:
    """Return the full name of a topic or a subscription of the console's project."""
    return f"projects/{console.project}/{kind}/{id_}"


def search_of(console: Console, kind: str, id_: str, wanted: MessageQuery) -> MessageSearch:
    """Return a search among the messages of a topic or a subscription."""
    return console.store.find_messages(full_name(console, kind, id_), wanted)


@router.get("/{kind}/{id_}/messages")
def show(request: Request, kind: Kind, id_: str) -> Response:
    """Show the page of the messages of a topic or a subscription."""
    console = console_of(request)
    resource = (
        console.store.get_topic(id_) if kind == "topics" else console.store.get_subscription(id_)
    )
    asked = read_search_form(request.query_params, of_topic=kind == "topics")
    return render(
        request,
        "messages.html",
        400 if asked.form.has_errors else 200,
        id=id_,
        kind=kind,
        topic=resource if kind == "topics" else None,
        subscription=resource if kind == "subscriptions" else None,
        asked=asked,
        form=asked.form,
        states=STATES,
        at=address(kind, id_, "messages"),
        before=request.query_params.get("before", ""),
    )


@router.get("/{kind}/{id_}/messages/found")
def find(request: Request, kind: Kind, id_: str) -> Response:
    """Start a search, and show its results as a fragment."""
    asked = _search_form(request, kind)
    assert asked.message_query is not None
    return _start(request, kind, id_, asked.message_query, asked.query_string)


def _start(
    request: Request, kind: Kind, id_: str, wanted: MessageQuery, query_string: str
) -> Response:
    console = console_of(request)
    running = console.searches.start(
        search_of(console, kind, id_, wanted),
        address(kind, id_, "messages"),
        query_string,
        is_older=wanted.before is not None,
    )
    return _results(request, running)


@dataclass(frozen=True)
class LiveRows:
    """Rows of newer messages, which are added to a list of messages.

    ``address``: the address of the next rows, "" after the last. ``added``: the number of rows.
    ``is_full``: whether there are more messages than the list shows. ``again``: the address of the
    search.
    """

    address: str
    added: int
    is_full: bool
    again: str


def _live_rows(
    at: str,
    query: str,
    search: MessageSearch,
    listed: int,
    added: int = 0,
    *,
    is_full: bool = False,
) -> LiveRows:
    since = {"topic": search.topic_uid, "version": search.version}
    numbers = urlencode({**since, "listed": listed, "added": added})
    address = "" if is_full else f"{at}/newer?{query}&{numbers}"
    return LiveRows(address, added, is_full, f"{at}?{query}")


RowCount = Annotated[int, Query(ge=0, le=MOST_LIVE)]


@router.get("/{kind}/{id_}/messages/newer")
def find_newer(
    request: Request,
    kind: Kind,
    id_: str,
    topic: str,
    listed: RowCount = 0,
    added: RowCount = 0,
) -> Response:
    """Show the messages since a search, as a fragment with rows to insert above the list.

    ``topic``: the uid of the topic that was searched. ``listed``: the number of rows that the
    search has found. ``added``: the number inserted above since.
    """
    console, asked = console_of(request), _search_form(request, kind)
    assert asked.message_query is not None
    until = console.at_present() + _LONGEST
    search = search_of(console, kind, id_, asked.message_query)
    rows = search.messages(max_bytes=PREVIEW_BYTES, is_stopped=lambda: console.at_present() > until)
    room = MOST_LIVE - listed - added
    is_other = topic != search.topic_uid  # it was deleted and created again
    found = [] if is_other else list(islice(rows, max(0, room) + 1))
    at, query = address(kind, id_, "messages"), asked.query_string
    if is_other or (found and not listed + added):  # the page has no list of them yet
        whole = replace(asked.message_query, after_version=None)
        response = _start(request, kind, id_, whole, query)
        response.headers.update({"HX-Retarget": "#found", "HX-Reswap": "outerHTML"})
        return response
    is_full = len(found) > room or search.progress < 1
    shown = found[:room]
    return render(
        request,
        "newer_messages.html",
        at=at,
        live=_live_rows(at, query, search, listed, added + len(shown), is_full=is_full),
        messages=list(map(summary, shown)),
    )


@router.get("/searches/{id_}")
def show_search(request: Request, id_: str) -> Response:
    """Show the results of a search so far, as a fragment."""
    running = console_of(request).searches.find(id_)
    if running is None:
        return error_page(request, _UNKNOWN_SEARCH, 404)
    return _results(request, running)


@router.post("/searches/{id_}/stop")
def stop(request: Request, id_: str) -> Response:
    """Stop a search."""
    running = console_of(request).searches.find(id_)
    if running is None:
        return error_page(request, _UNKNOWN_SEARCH, 404)
    running.stop()
    if "hx-request" in request.headers:
        return _results(request, running)
    return redirect("searches", id_)


def _search_form(request: Request, kind: str) -> SearchForm:
    asked = read_search_form(request.query_params, of_topic=kind == "topics")
    if asked.message_query is None:
        field, text = next(iter(asked.form.errors.items()))
        raise InvalidArgument(f"{field}: {text}")
    return asked


def _results(request: Request, running: BackgroundSearch) -> Response:
    is_done = running.wait(WAIT_SECONDS)
    if running.problem is not None:
        raise running.problem
    live = None
    if is_done and not running.was_stopped and not running.is_older:
        found = len(running.found)
        live = _live_rows(running.at, running.query_string, running.search, found)
    request.state.section = running.at.split("/")[1]
    last = running.found[-1].message_id if running.found else ""
    return render(
        request,
        "search_results.html" if "hx-request" in request.headers else "search_results_page.html",
        search=running,
        is_done=is_done,
        messages=list(map(summary, running.found)),
        live=live,
        more=f"{running.at}?{running.query_string}&before={last}" if running.has_more else "",
        download=f"{running.at}/download?{running.query_string}",
    )


_LINE = 160


def summary(message: FoundMessage) -> dict[str, Any]:
    """Return a message as a row of a list, with the beginning of its data as one line."""
    try:
        text = message.data[:_LINE].decode()
    except UnicodeDecodeError:
        text = message.data[:_LINE].decode(errors="ignore")
        if len(text.encode()) + 4 < len(message.data[:_LINE]):
            text = message.data[:48].hex(" ")
    return {"message": message, "line": " ".join(text.split())}


@router.get("/{kind}/{id_}/messages/download")
def download(
    request: Request, kind: Kind, id_: str, format: Literal["jsonl", "parquet"] = "jsonl"
) -> Response:
    """Download all messages of a search, as JSON lines or Parquet."""
    asked = _search_form(request, kind)
    assert asked.message_query is not None
    search = search_of(console_of(request), kind, id_, asked.message_query)
    name = f"{id_}-messages.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{_file_name(name)}"'}
    if format == "jsonl":
        return StreamingResponse(_lines(search), 200, headers, "application/x-ndjson")
    # Whatever becomes of the response, the file goes with its last reference.
    file = tempfile.TemporaryFile()  # noqa: SIM115  (``_parts`` closes it)
    try:
        _write_parquet(search, file)
    except BaseException:
        file.close()
        raise
    headers["Content-Length"] = str(file.tell())
    file.seek(0)
    return StreamingResponse(_parts(file), 200, headers, "application/vnd.apache.parquet")


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while part := file.read(_PART):
            yield part


def _file_name(name: str) -> str:
    return "".join(each if (each.isalnum() and each.isascii()) or each in "-_." else "_"
                   for each in name)  # fmt: skip


def _lines(search: MessageSearch) -> Iterator[bytes]:
    for each in search.messages(max_bytes=2**31):
        shown_fields: dict[str, Any] = {
            "message_id": each.message_id,
            "publish_time": None if each.publish_time is None else rfc3339(each.publish_time),
            "ordering_key": each.ordering_key,
            "attributes": each.attributes,
        }
        try:
            shown_fields["data"] = each.data.decode()
        except UnicodeDecodeError:
            shown_fields["data_base64"] = base64.b64encode(each.data).decode()
        if each.state is not None:
            shown_fields["state"] = each.state
        yield json.dumps(shown_fields, ensure_ascii=False).encode(errors="surrogatepass") + b"\n"


_PARQUET = pa.schema(
    {
        "message_id": pa.string(),
        "publish_time": pa.timestamp("us", tz="UTC"),
        "ordering_key": pa.string(),
        "attributes": pa.map_(pa.string(), pa.string()),
        "data": pa.binary(),
    }
)
"""The columns of a download, also of one without messages."""


def _write_parquet(search: MessageSearch, file: IO[bytes]) -> None:
    with pq.ParquetWriter(file, _PARQUET) as writer:
        for rows in search.rows():
            named = rows.rename_columns(
                ["message_id" if name == "position" else name for name in rows.column_names]
            )
            writer.write_table(named.select(_PARQUET.names).cast(_PARQUET))
