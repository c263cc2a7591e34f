"""Checks of arguments that fields and methods share: numbers, truth values, settings, functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TypeGuard, TypeVar

from pubsub_delta.errors import InvalidArgument

T = TypeVar("T")

_NOT_RUN = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
_UNFINISHED = (CoroutineType, GeneratorType, AsyncGeneratorType)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number, which True and False are not.

    >>> is_whole(1), is_whole(True), is_whole(1.0)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool)


def check_switch(value: bool, field: str) -> bool:
    """Return the boolean value of a field."""
    if not isinstance(value, bool):
        raise InvalidArgument(
            f"{field}: {value!r} is neither True nor False; one of them is accepted"
        )
    return value


def is_given(value: object, kind: type[T], field: str, without: str) -> TypeGuard[T]:
    """Return whether a value is not None; InvalidArgument if it is of another class.

    ``without``: what None means.
    """
    if value is not None and not isinstance(value, kind):
        a = "an" if kind.__name__[0] in "AEIO" else "a"
        raise InvalidArgument(
            f"{field}: {value!r} is not {a} {kind.__name__}; one is accepted, or None for {without}"
        )
    return value is not None


def check_function(function: object, field: str, of: str) -> Callable[..., object]:
    """Return a function that calls a given one, and fails if nothing of its body has run.

    A coroutine and a generator are refused: a call does not run them. Nor does a function that
    returns one, as a lambda or the wrapper of a decorator: that is known by its result alone.
    """
    accepted = f"a function of {of} is accepted, without async and yield"
    called = (function, getattr(function, "__call__", None))  # noqa: B004 - an object that is called
    runs = not any(is_other(each) for each in called for is_other in _NOT_RUN)
    if not callable(function) or not runs:
        raise InvalidArgument(f"{field}: {function!r}; {accepted}")

    def run(*given: object) -> object:
        found: object = function(*given)
        if isinstance(found, _UNFINISHED):
            if not isinstance(found, AsyncGeneratorType):
                found.close()
            what = f"{function!r} has returned a {type(found).__name__}, which nobody runs"
            raise InvalidArgument(f"{field}: {what}; {accepted}")
        return found

    return run


def check_settings(given: object, kind: type, field: str) -> None:
    """Raise InvalidArgument unless settings are of a class.

    Those of Google's client have classes of the same names, and other fields.
    """
    if not isinstance(given, kind):
        raise InvalidArgument(
            f"{field}: {given!r} is a {type(given).__module__}.{type(given).__qualname__}; a "
            f"pubsub_delta.{kind.__name__} is accepted"
        )
