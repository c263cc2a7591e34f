"""Which store is meant, and how to show it: options, then environment, then a small file."""

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
KEYS = ("root", "project", "format", "remote")
"""What the file may say; each is a text."""


@dataclass(frozen=True)
class Settings:
    """What a command is told besides its own options. ``root`` is None if nobody names a store."""

    root: str | None = None
    project: str = "local"
    format: str | None = None
    remote: str | None = None
    quiet: bool = False
    log_level: str = "error"


def read_settings(given: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Return the settings: what the command line says, else the environment, else the file.

    The file is the one that PUBSUB_DELTA_CONFIG names, which must exist then, or
    ``~/.config/pubsub_delta/config.toml``. Wrong contents are refused (InvalidArgument).
    """
    kept: dict[str, Any] = _of_file(environment)
    for key in ("root", "project", "remote"):
        if text := environment.get(f"PUBSUB_DELTA_{key.upper()}"):
            kept[key] = text
    kept.update({key: value for key, value in given.items() if value is not None})
    if str(kept.get("root", "")).startswith("~"):  # no shell expands the one in --root=~/store
        kept["root"] = expanduser(kept["root"])
    return Settings(**kept)


def _of_file(environment: Mapping[str, str]) -> dict[str, str]:
    named = environment.get(CONFIG)
    path = Path(named) if named else Path(environment.get("HOME", ""), DEFAULT_FILE)
    if not named and not ("HOME" in environment and path.is_file()):
        return {}
    try:
        read: dict[str, str] = _toml().loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path}: cannot be read as TOML: {error}") from None
    for key, value in read.items():
        if key not in KEYS or not isinstance(value, str):
            raise InvalidArgument(
                f"{path}: {key} = {value!r}; texts for {', '.join(KEYS)} are accepted"
            )
    return read


def _toml() -> Any:
    return importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
