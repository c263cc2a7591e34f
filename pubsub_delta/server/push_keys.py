"""The file of the keys that sign the tokens of push requests.

All servers of a store share the file. One server at a time replaces it by a new file, which only
its owner may read.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pubsub_delta.clock import UTC
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.policy.signing_keys import needs_new, published, signing

try:
    from joserfc.errors import JoseError
    from joserfc.jwk import RSAKey
except ModuleNotFoundError as missing:
    raise FailedPrecondition(
        f"the module {missing.name} is not installed; pip install 'pubsub-delta[server]' "
        "installs it"
    ) from missing

logger = logging.getLogger("pubsub_delta.server")

ALGORITHM = "RS256"
KEYS = "push-keys.json"
"""The name of the file, if the store is in a local directory."""
_BITS = 2048
_LOCK_SECONDS = 10.0
_CREATED = "created"
"""A member of our own in a key: when it was created, in seconds since 1970."""


@dataclass(frozen=True)
class PushKey:
    """A private key, and when it was created."""

    kid: str
    created: datetime
    key: RSAKey


class PushKeys:
    """The keys in a file. Every method may wait for the disk.

    Args:
        path: the file; it is created with the first token.
        now: returns the time.
    """

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self._path = path
        self._now = now
        self._lock = threading.Lock()
        self._last_stamp: Hashable = None
        self._keys: Sequence[PushKey] = ()

    def signing(self) -> PushKey:
        """Return the key to sign with, after rotating the keys if it is time.

        FailedPrecondition if there is no key, and none can be created.
        """
        with self._lock:
            self._reload_if_changed()
            if needs_new([each.created for each in self._keys], self._now()):
                self._renew()
            signs = signing([each.created for each in self._keys], self._now())
            return next(each for each in self._keys if each.created == signs)

    def kids(self) -> set[str]:
        """Return the ids of the keys; none after the file was removed."""
        with self._lock:
            self._reload_if_changed()
            return {each.kid for each in self._keys}

    def public(self) -> list[dict[str, Any]]:
        """Return the public keys for a JWKS; no key is created for it."""
        with self._lock:
            self._reload_if_changed()
            shown = published([each.created for each in self._keys], self._now())
            return [
                {**each.key.as_dict(private=False), "kid": each.kid}
                for each in self._keys
                if each.created in shown
            ]

    def _reload_if_changed(self) -> None:
        """Read the file if it has changed; the keys of a file that was removed are void."""
        stamp = _stamp(self._path)
        directory = self._path.parent  # where that is gone as well, the disk is
        if stamp is None and directory.is_dir() and not self._path.exists():
            self._keys, self._last_stamp = (), None
        if stamp is not None and stamp != self._last_stamp:
            self._keys, self._last_stamp = _read(self._path), stamp

    def _renew(self) -> None:
        """Add a key, unless another server just did, and remove keys that are out of date."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_SECONDS):
                self._reload_if_changed()
                created = [each.created for each in self._keys]
                now = self._now()
                if needs_new(created, now):
                    new = _made(now)
                    kept = published(created, now)
                    keys = [new, *(each for each in self._keys if each.created in kept)]
                    _write(self._path, keys)
                    self._keys, self._last_stamp = keys, _stamp(self._path)
                    logger.info("%s: key %s was added", self._path, new.kid)
        except (OSError, Timeout) as error:
            if not self._keys:
                raise FailedPrecondition(
                    f"push-keys-file: {str(self._path)!r} cannot be written ({error}); a path "
                    "that the server may write, or a file with keys, is accepted"
                ) from None
            logger.warning("%s: a new key could not be added: %s", self._path, error)


def _made(now: datetime) -> PushKey:
    kid = secrets.token_hex(8)
    parameters: Any = {"kid": kid, "use": "sig", "alg": ALGORITHM}
    return PushKey(kid, now, RSAKey.generate_key(_BITS, parameters=parameters))


def _read(path: Path) -> Sequence[PushKey]:
    """Return the keys of a file, newest first; FailedPrecondition if it is not such a file."""
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and mode & 0o007:
            raise FailedPrecondition(
                f"push-keys-file: other users may read {str(path)!r}; remove their permission with "
                f"chmod 600 {path}"
            )
        found = [
            PushKey(each["kid"], datetime.fromtimestamp(each[_CREATED], UTC), _imported(each))
            for each in json.loads(path.read_bytes())["keys"]
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, JoseError) as error:
        raise FailedPrecondition(
            f"push-keys-file: {str(path)!r} cannot be read ({type(error).__name__}: {error}); a "
            "file that a server wrote is accepted, or a path where there is no file yet"
        ) from None
    return sorted(found, key=lambda each: each.created, reverse=True)


def _imported(written: dict[str, Any]) -> RSAKey:
    key: RSAKey = RSAKey.import_key(
        {name: value for name, value in written.items() if name != _CREATED}
    )
    if not key.is_private:
        raise ValueError(f"key {written['kid']} has no private part")
    return key


def _write(path: Path, keys: Sequence[PushKey]) -> None:
    """Replace the file by a complete one, which only its owner may read."""
    written = [
        {**each.key.as_dict(private=True), "kid": each.kid, _CREATED: each.created.timestamp()}
        for each in keys
    ]
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(json.dumps({"keys": written}).encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    finally:
        with suppress(OSError):
            new.unlink()


def _stamp(file: Path) -> Hashable:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
