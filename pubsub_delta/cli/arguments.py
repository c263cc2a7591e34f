"""Types of options, in gcloud's syntax: lists, pairs, switches, times, durations, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from pubsub_delta.cli.application import App
from pubsub_delta.cli.formats import KINDS, parse_format
from pubsub_delta.cli.times import parse_duration
from pubsub_delta.errors import InvalidArgument, Unimplemented
from pubsub_delta.jobs.option_groups import F, options

T = TypeVar("T")

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # not generic before click 8.2


def split_list(text: str) -> list[str]:
    """Split a list at commas, or at the delimiter between two ``^`` at its beginning.

    >>> split_list("a,b"), split_list("^;^a,b;c")
    (['a', 'b'], ['a,b', 'c'])
    """
    separator = ","
    if text.startswith("^") and text.find("^", 1) > 1:
        separator, text = text[1:].split("^", 1)
    return [part for part in text.split(separator) if part]


def split_pairs(text: str) -> dict[str, str]:
    """Split ``k=v,k2=v2``. ValueError for a part without ``=``, or a repeated key.

    >>> split_pairs("lang=en,query=a=b")
    {'lang': 'en', 'query': 'a=b'}
    """
    pairs = {}
    for part in split_list(text):
        key, equals, value = part.partition("=")
        if not equals or not key or key in pairs:
            raise ValueError(part)
        pairs[key] = value
    return pairs


def changed_labels(
    now: Mapping[str, str],
    update: Mapping[str, str],
    remove: Iterable[str],
    *,
    clear: bool,
) -> dict[str, str]:
    """Return labels after updates, and then removals; ``clear`` removes those that were there.

    gcloud: "If --update-labels is also specified then --update-labels is applied first".

    >>> changed_labels({"a": "1", "b": "2"}, {"a": "3", "c": "4"}, ["a", "b"], clear=False)
    {'c': '4'}
    >>> changed_labels({"a": "1"}, {"b": "2"}, [], clear=True)
    {'b': '2'}
    """
    changed = {**({} if clear else now), **update}
    return {key: value for key, value in changed.items() if key not in set(remove)}


class ListType(ParamType):
    """A list with commas."""

    name = "item,…"

    def convert(
        self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None
    ) -> list[str]:
        return split_list(value) if isinstance(value, str) else value


class PairsType(ParamType):
    """Pairs ``key=value`` with commas."""

    name = "key=value,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, str]:
        try:
            return split_pairs(value) if isinstance(value, str) else value
        except ValueError as error:
            wrong = f"{str(error)!r} is not a pair, or its key appears twice"
            self.fail(f"{wrong}; key=value,key2=value2 is accepted", param, ctx)


class DurationType(ParamType):
    """A duration, or one of some words."""

    name = "duration"

    def __init__(self, *words: str) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.words or not isinstance(value, str):
            return value
        return _checked(self, lambda: parse_duration(value, "duration"), param, ctx)


class TimeType(ParamType):
    """A time, perhaps relative to now."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or ctx is None:
            return value
        return _checked(self, lambda: ctx.ensure_object(App).read_time(value), param, ctx)


class FormatType(ParamType):
    """A format of gcloud."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _checked(self, lambda: parse_format(value), param, ctx)
        return value

    def shell_complete(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        return [CompletionItem(kind) for kind in KINDS if kind.startswith(incomplete)]


class FilterType(ParamType):
    """A filter of gcloud."""

    name = "expression"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from pubsub_delta.cli.grammar.filters import parse_filter  # most command lines have none

        app = App() if ctx is None else ctx.ensure_object(App)
        _checked(self, lambda: parse_filter(value, app.context), param, ctx)
        return value


class KeysType(ParamType):
    """Keys of records with commas."""

    name = "key,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from pubsub_delta.cli.grammar.selection import sort_keys

        keys = split_list(value) if isinstance(value, str) else value
        _checked(self, lambda: sort_keys(keys), param, ctx)
        return keys


class LimitType(click.IntRange):
    """A limit from 1, or ``unlimited``."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == "unlimited" else super().convert(value, param, ctx)


class ResourceType(ParamType):
    """The name of a resource; the shell completes names of the store."""

    name = "text"

    def __init__(self, collection: str) -> None:
        self.collection = collection

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        """Return matching IDs, or full names after ``projects/``, without those given already."""
        project = ctx.params.get(f"{param.name}_project")
        found = list(ctx.ensure_object(App).completion_names(self.collection, project))
        if not incomplete.startswith("projects/"):
            found = [name.rsplit("/", 1)[-1] for name in found]
        given = ctx.params.get(param.name or "")
        taken = set(given) if isinstance(given, (tuple, list)) else set()
        return [CompletionItem(n) for n in found if n.startswith(incomplete) and n not in taken]


TOPIC, SUBSCRIPTION, SNAPSHOT, SCHEMA = map(
    ResourceType, ("topics", "subscriptions", "snapshots", "schemas")
)


class Switch(click.Option):
    """A boolean option: ``--flag``, ``--flag=true|false`` or ``--no-flag``; None if not given."""

    def __init__(self, *args: Any, **more: Any) -> None:
        more.update(type=click.BOOL, default=None)
        super().__init__(*args, **more)

    def get_help_record(self, _ctx: click.Context) -> tuple[str, str]:
        return f"--[no-]{self.opts[0].removeprefix('--')}", self.help or ""


exact_option = click.option(
    "--exact", is_flag=True, help="Read messages for values that would be estimates."
)


def expand_switches(args: Sequence[str], switches: set[str]) -> Iterator[str]:
    """Write switches with a value; click has no flags with an optional value.

    >>> list(expand_switches(["--keep", "--no-keep", "--keep=false", "--", "--keep"], {"--keep"}))
    ['--keep=true', '--keep=false', '--keep=false', '--', '--keep']
    """
    negative = {name.replace("--", "--no-", 1): name for name in switches}
    options_end = False
    for arg in args:
        options_end = options_end or arg == "--"
        if not options_end and arg in switches:
            yield f"{arg}=true"
        elif not options_end and arg in negative:
            yield f"{negative[arg]}=false"
        else:
            yield arg


def merge(
    ctx: click.Context, param: click.Parameter, given: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """Merge the mappings of a repeated option; BadParameter for a repeated key."""
    merged: dict[str, str] = {}
    for pairs in given:
        for key, value in pairs.items():
            if key in merged:
                problem = f"the key {key!r} appears twice; each once is accepted"
                raise click.BadParameter(problem, ctx, param)
            merged[key] = value
    return merged


def chain(_: click.Context, __: click.Parameter, given: Sequence[Sequence[str]]) -> list[str]:
    """Concatenate the lists of a repeated option."""
    return [each for items in given for each in items]


def pairs_option(*names: str, help: str) -> Callable[[F], F]:
    """Add an option of pairs, which may be given several times."""
    return click.option(*names, type=PairsType(), multiple=True, callback=merge, help=help)


def list_option(*names: str, help: str, required: bool = False) -> Callable[[F], F]:
    """Add an option of texts, which may be given several times."""
    return click.option(
        *names, type=ListType(), multiple=True, callback=chain, help=help, required=required
    )


label_options = options(
    pairs_option("--update-labels", help="Labels to set."),
    click.option("--clear-labels", is_flag=True, help="Remove all labels."),
    list_option("--remove-labels", help="Keys of labels to remove."),
)
"""The options that change labels."""


def mutually_exclusive(**given: object) -> None:
    """Raise UsageError if more than one of some options is given."""
    named = [name for name, value in given.items() if value not in (None, False, [], {}, ())]
    if len(named) > 1:
        problem = " and ".join(f"--{name.replace('_', '-')}" for name in named)
        raise click.UsageError(f"{problem} exclude each other; one of them is accepted")


def _checked(
    type_: ParamType,
    read: Callable[[], T],
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> T:
    try:
        return read()
    except (InvalidArgument, Unimplemented) as error:
        type_.fail(str(error).partition(": ")[2], param, ctx)
