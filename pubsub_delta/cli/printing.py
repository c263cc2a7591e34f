"""Prints records in every format of ``--format``, as gcloud does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pubsub_delta.cli.formats import (
    MULTI,
    TABULAR,
    Column,
    Format,
    parse_format,
    projected,
    sorted_by,
)
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.selection import Selection, selected, sort_keys
from pubsub_delta.cli.terminal import escaped


def chosen_format(given: str, default: str, selection: Selection, context: Context) -> Format:
    """Return the format that ``--format`` gives, or the default one of the command."""
    if not given and selection.uri:
        return parse_format("value(.)", context)
    return parse_format(given, context, default)


def render_selected(
    records: Sequence[Any],
    form: Format,
    selection: Selection,
    context: Context,
    *,
    single: bool = False,
    page_size: int | None = None,
    width: int | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> tuple[str, int]:
    """Render the records that the options of a listing select; return the text and their number.

    ``width``: the width of the terminal; wider tables are folded.
    ``warn``: called if no record has a key of the filter.
    """
    found, absent = selected(records, selection, context, form.aliases)
    if absent:
        warn(f"The following filter keys were not present in any resource : {', '.join(absent)}")
    keys = sort_keys(selection.sort_by, form.aliases)
    if keys and form.kind == "table":
        form = sorted_by(form, keys)
    text = render(found, form, single=single, page_size=page_size, width=width)
    return text, len(found)


def render(
    records: Sequence[Any],
    form: Format,
    *,
    single: bool = False,
    page_size: int | None = None,
    width: int | None = None,
) -> str:
    """Render records in a format; each line ends with a newline.

    ``single``: whether this is one described record, not a listing.
    ``page_size``: the number of rows of one table.
    ``width``: the width of the terminal; wider tables are folded.
    """
    if form.kind in ("none", "disable"):
        return ""
    if form.kind == "table":
        return _tables(records, form, page_size, width)
    if form.kind in TABULAR:
        return "".join(_delimited(records, _with_columns(form, records)))
    if form.kind == "list":
        return "".join(_listed(records, form))
    if form.kind == MULTI:
        return "".join(_each_in_its_format(records, form, single=single))
    shown = [projected(each, _active(form)) for each in records]
    if form.kind == "json":
        return _json(shown[0] if single else shown)
    from pubsub_delta.cli import documents

    if form.kind == "config":
        title = f"{form.attributes['title']}\n" if "title" in form.attributes else ""
        return title + "".join(documents.config(each, form.attributes) for each in shown)
    if form.kind in ("flattened", "text"):
        write: Callable[[Any], str] = lambda each: documents.flattened(each, form)  # noqa: E731
    else:
        write = lambda each: documents.yaml_text(each, form.attributes.get("null"))  # noqa: E731
    if single:
        return "".join(map(write, shown))
    return "".join(documents.document_start(write(each), each, form.kind) for each in shown)


class RecordStream:
    """Renders records as they come: JSON with one record a line, a heading before the first only.

    ``form``: returns the format, which may depend on the time.
    """

    def __init__(self, form: Callable[[], Format]) -> None:
        self._form = form
        self._has_begun = False

    def text(self, records: Sequence[Any]) -> str:
        """Render more records."""
        form = self._form()
        if form.kind == "json":
            shown = (projected(each, form.columns) for each in records)
            return "".join(json.dumps(each, sort_keys=True) + "\n" for each in shown)
        if self._has_begun:
            form = replace(form, attributes={**form.attributes, "no-heading": ""})
        self._has_begun = True
        return render(records, form)


def _active(form: Format) -> tuple[Column, ...]:
    """Return the columns, without their transforms if the format says so."""
    if "no-transforms" not in form.attributes:
        return form.columns
    return tuple(replace(each, calls=None) for each in form.columns)


def _with_columns(form: Format, records: Sequence[Any]) -> Format:
    """Return a format with columns; if it has none, with all keys of the records."""
    if form.columns:
        return form
    from pubsub_delta.cli.grammar.keys import snake_case

    names = {name for each in records if isinstance(each, Mapping) for name in each}
    columns = [Column((name,), snake_case(name)) for name in sorted(names, key=_name_first)]
    return replace(form, columns=tuple(columns or [Column((), "")]))


def _name_first(name: str) -> tuple[bool, str]:
    return name != "name", name


def _rows(records: Iterable[Any], form: Format) -> list[list[Any]]:
    bare = form.kind == "get" and "transforms" not in form.attributes
    bare = bare or "no-transforms" in form.attributes
    return [
        [each.raw(record) if bare else each.of(record) for each in form.columns]
        for record in records
    ]


def _tables(records: Sequence[Any], form: Format, page_size: int | None, width: int | None) -> str:
    from pubsub_delta.cli.tables import INDENTED, table_text

    form = _with_columns(form, records)
    rows = _rows(records, form)
    nested = [number for number, each in enumerate(form.columns) if each.nested]
    if nested and len(nested) == len(form.fields):
        # Without rows to be under, each nested format gets the values of all records.
        return "".join(
            _nested([row[number] for row in rows], form.columns[number], width) for number in nested
        )

    def below(row: Sequence[Any]) -> str:
        narrower = None if width is None else max(width - INDENTED, 1)
        return "".join(_nested(row[number], form.columns[number], narrower) for number in nested)

    size = page_size or len(rows) or 1
    pages = [rows[at : at + size] for at in range(0, len(rows), size)]
    attributes = dict(form.attributes)
    texts = []
    for page in pages:
        texts.append(table_text(form.columns, page, attributes, width, below if nested else None))
        attributes.pop("title", None)
    return "\n".join(texts)


def _nested(value: Any, column: Column, width: int | None) -> str:
    """Render a value in the format of its column; a list is a listing."""
    assert column.nested is not None
    if isinstance(value, list):
        found = [each for each in value if each]
        return render(found, column.nested, width=width) if found else ""
    return render([value], column.nested, single=True, width=width) if value else ""


def _each_in_its_format(records: Sequence[Any], form: Format, *, single: bool) -> Iterator[str]:
    between, end = (form.attributes.get(each, "") for each in ("separator", "terminator"))
    for record in records:
        for number, column in enumerate(form.fields):
            yield between if number or not single else ""
            yield _nested(column.of(record), column, None)
        yield end


def _delimited(records: Sequence[Any], form: Format) -> Iterator[str]:
    """Write CSV or values, one record a line."""
    given, csv = form.attributes, form.kind == "csv"
    separator = given.get("separator", "," if csv else "\t")
    delimiter, end = given.get("delimiter", ";"), given.get("terminator", "\n")
    quoted = "no-quote" not in given if csv else "quote" in given
    visible = [number for number, each in enumerate(form.columns) if not each.hidden]

    def field(text: str) -> str:
        special = any(mark and mark in text for mark in (delimiter, '"', separator, end))
        if not text or not quoted or not (special or text[0].isspace() or text[-1].isspace()):
            return text
        return '"' + text.replace('"', '""') + '"'

    headings = [form.columns[number].heading.lower() for number in visible]
    if csv and "no-heading" not in given and records and any(headings):
        yield separator.join(map(field, headings)) + end
    for row in _rows(records, form):
        cells = (_cell(row[number], field, delimiter) for number in visible)
        yield separator.join(cells) + end


def _cell(value: Any, field: Callable[[str], str], delimiter: str) -> str:
    from pubsub_delta.cli.grammar.transforms import float_text, text_of

    if value is None:
        return ""
    if isinstance(value, Mapping):
        return delimiter.join(field(f"{key}={text_of(e)}") for key, e in sorted(value.items()))
    if isinstance(value, list):
        return delimiter.join(field(text_of(each)) if each else "" for each in value)
    return field(float_text(value) if isinstance(value, float) else text_of(value))


def _listed(records: Sequence[Any], form: Format) -> Iterator[str]:
    """Write a list with one item for each record."""
    from pubsub_delta.cli.grammar.transforms import text_of

    between = " " if "compact" in form.attributes else "\n   "
    title = form.attributes.get("title")
    if title and (records or "always-display-title" in form.attributes):
        yield f"{title}\n"
    for record in records:
        if form.columns:
            parts = [each for each in _rows([record], form)[0] if each is not None]
        elif isinstance(record, Mapping):
            pairs = sorted(record.items())
            parts = [f"{key}: {text_of(each)}" for key, each in pairs if each is not None]
        else:
            parts = [record]
        yield f" - {between.join(map(text_of, parts))}\n"


def _json(value: Any) -> str:
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=_plain) + "\n"
    return escaped(text, lambda each: json.dumps(each)[1:-1])


def _plain(value: Any) -> Any:
    from pubsub_delta.cli.grammar.transforms import text_of

    return text_of(value)
