"""JSON as the data of messages and definitions has it: read strictly.

JSON: names in an object are unique, and ``NaN`` is no number.
"""

from __future__ import annotations

import json
from typing import Any

from pubsub_delta.policy.schemas.types import SchemaMismatch

MOST_LEVELS = 300
"""The depth of nested arrays and objects."""


class NotStrict(ValueError):
    """JSON that other readers refuse, or read as something else."""


def read_json(data: bytes) -> Any:
    """Parse JSON; SchemaMismatch for invalid JSON, or an object with a repeated field."""
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=unique_members, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise SchemaMismatch(f"invalid UTF-8 ({error.reason} at byte {error.start})") from None
    except RecursionError:
        raise SchemaMismatch("it is nested too deeply") from None
    except (json.JSONDecodeError, NotStrict) as error:
        raise SchemaMismatch(f"invalid JSON: {error}") from None
    except ValueError:  # of Python's own limit
        raise SchemaMismatch("a number has too many digits") from None
    if data.count(b"[") + data.count(b"{") > MOST_LEVELS:
        _check_levels(value)
    return value


def _check_levels(value: Any) -> None:
    """Raise SchemaMismatch for deep nesting, which could overflow the stack of a parser in C."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise SchemaMismatch(f"it is nested too deeply: {MOST_LEVELS} levels are accepted")


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; NotStrict for a repeated name, of which one would count."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotStrict(f"{twice!r} appears twice in an object")
    return found


def _no_constant(text: str) -> Any:
    raise NotStrict(f"{text} is not a JSON number")
