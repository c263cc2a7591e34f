"""The policy file: read when the server starts, and again when it changes."""

from __future__ import annotations

import logging
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pubsub_delta.errors import InvalidArgument, PubSubError, shortened
from pubsub_delta.policy.access import AccessPolicy
from pubsub_delta.policy.access_files import read_policy
from pubsub_delta.server.authentication import Authenticator, read_keys

logger = logging.getLogger("pubsub_delta.server")

_LARGEST = 10_000_000
"""Bytes of a policy file."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """A YAML loader that refuses a repeated key; PyYAML would drop the first value silently."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {str(each) for each in names if names.count(each) > 1}
        if twice:
            raise InvalidArgument(f"the key {sorted(twice)[0]!r} is given twice; give it once")
        return super().construct_mapping(node, deep)


@dataclass(frozen=True)
class Loaded:
    """The content of a policy file: the policy, and the authenticator of its tokens."""

    policy: AccessPolicy
    authenticator: Authenticator


class PolicyFile:
    """A policy file, with the key files of issuers that it names.

    If a changed file cannot be read, the policy that was read before stays in force.

    Args:
        path: a YAML or JSON file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: tuple[Path, ...] = (path,)
        self._last_signature: Hashable = None
        self.loaded = self._load()

    def reload_if_changed(self) -> bool:
        """Read the file again if it, or a key file, has changed; return whether it is in force."""
        if self._signature() == self._last_signature:
            return False
        return self.reload()

    def reload(self) -> bool:
        """Read the file again; return whether it is in force. An error is logged."""
        try:
            self.loaded = self._load()
        except PubSubError as error:
            logger.error(
                "the policy file cannot be read, and the previous policy stays in force: %s", error
            )
            return False
        logger.info("the policy file was read again, and is in force")
        return True

    def _load(self) -> Loaded:
        self._last_signature = self._signature()  # before reading: a change meanwhile is seen later
        try:
            before = _stamp(self._path)
            policy = read_policy(_document(self._path))
            keys = [self._path.parent / issuer.keys for issuer in policy.issuers]
            self._files, self._last_signature = (self._path, *keys), (before, *map(_stamp, keys))
            sets = {
                issuer.keys: read_keys(file, f"issuers[{place}].keys")
                for place, (issuer, file) in enumerate(zip(policy.issuers, keys, strict=True))
            }
        except PubSubError as error:
            raise type(error)(f"policy-file: {str(self._path)!r}: {error}") from None
        return Loaded(policy, Authenticator(policy, sets))

    def _signature(self) -> Hashable:
        return tuple(map(_stamp, self._files))


def _stamp(file: Path) -> Hashable:
    """Return what differs between versions of a file; a link is followed."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


def _document(path: Path) -> Any:
    try:
        text = path.read_bytes()
        if len(text) > _LARGEST:
            raise InvalidArgument(f"it has {len(text):,} bytes; up to {_LARGEST:,} are accepted")
        return yaml.load(text, _Loader)  # noqa: S506  (it is a SafeLoader)
    except OSError as error:
        raise InvalidArgument(
            f"it cannot be read ({error}); a YAML or JSON file is accepted"
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        why = shortened(" ".join(str(error).split()), 300)
        raise InvalidArgument(f"it is neither YAML nor JSON: {why}") from None
