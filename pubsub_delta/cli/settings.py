"""The settings of the command line: from options, then the environment, then a file."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from os.path import expanduser
from pathlib import Path
from typing import Any

from pubsub_delta.errors import InvalidArgument

CONFIG = "PUBSUB_DELTA_CONFIG"
DEFAULT_FILE = ".config/pubsub_delta/config.toml"
LOG_LEVELS = ("error", "warning", "info", "debug")

STORE = ("root", "remote")
TABLES = ("tables_root",)
SERVER = ("endpoint", "endpoint_tls", "endpoint_token_file")
KEYS = ("project", "format", *STORE, *TABLES, *SERVER)
"""The keys of the file, whose values are strings. The environment has all but ``format``."""


@dataclass(frozen=True)
class Settings:
    """The global settings of a command.

    ``root``: the store; None if it is not set. ``tables_root``: the directory of tables that
    subscriptions may be written to; None for ``tables`` below the root. ``endpoint``: the server to
    use in place of the store; then ``root`` is None. ``endpoint_tls``: a PEM file, or ``public``.
    """

    root: str | None = None
    project: str = "local"
    format: str | None = None
    remote: str | None = None
    tables_root: str | None = None
    endpoint: str | None = None
    endpoint_tls: str | None = None
    endpoint_token_file: str | None = None
    quiet: bool = False
    log_level: str = "error"


def read_settings(given: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Return the settings of the command line, else of the environment, else of the file.

    The file is the one in PUBSUB_DELTA_CONFIG, which must exist, or
    ``~/.config/pubsub_delta/config.toml``. The first of the three with a store or a server decides
    between the two. InvalidArgument for wrong content.
    """
    levels: dict[str, dict[str, Any]] = {
        "the command line": {key: value for key, value in given.items() if value is not None},
        "the environment": {key: text for key in KEYS if (text := _variable(environment, key))},
        "the file": _of_file(environment),
    }
    kept = {key: value for level in reversed(levels.values()) for key, value in level.items()}
    for key in STORE if _has_server(levels) else ("endpoint",):
        kept.pop(key, None)
    idle = [key for key in SERVER if key in levels["the command line"]]
    if idle and "endpoint" not in kept:
        raise InvalidArgument(
            f"--{idle[0].replace('_', '-')} has no effect without --endpoint; give --endpoint, "
            "or leave it out"
        )
    for key in ("root", "tables_root", "endpoint_tls", "endpoint_token_file"):
        if str(kept.get(key, "")).startswith("~"):  # no shell expands it in --root=~/store
            kept[key] = expanduser(kept[key])
    return Settings(**kept)


def _variable(environment: Mapping[str, str], key: str) -> str | None:
    return None if key == "format" else environment.get(f"PUBSUB_DELTA_{key.upper()}")


def _has_server(levels: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a server is set, and not a store; InvalidArgument if both are."""
    for level, said in levels.items():
        store = [key for key in STORE if key in said]
        if "endpoint" in said and store:
            raise InvalidArgument(
                f"{level} names both endpoint and {store[0]}; one of them is accepted: a command "
                "asks a server, or works on the store itself"
            )
        if "endpoint" in said or store:
            return "endpoint" in said
    return False


def _of_file(environment: Mapping[str, str]) -> dict[str, str]:
    named = environment.get(CONFIG)
    path = Path(named) if named else Path(environment.get("HOME", ""), DEFAULT_FILE)
    if not named and not ("HOME" in environment and path.is_file()):
        return {}
    try:
        read: dict[str, str] = _toml().loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"{path}: cannot be read as TOML: {error}; correct the file"
        ) from None
    for key, value in read.items():
        if key not in KEYS or not isinstance(value, str):
            raise InvalidArgument(
                f"{path}: {key} = {value!r}; strings are accepted, for {', '.join(KEYS)}"
            )
    return read


def _toml() -> Any:
    return importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
