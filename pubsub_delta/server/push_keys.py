"""Push keys: the file of the keys by which the tokens of push requests are signed.

All servers of a store share it. It is written by one at a time, as a new file in the place of the
old one, and only its owner may read it.
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
"""The name of the file where the store is in a local directory."""
_BITS = 2048
_LOCK_SECONDS = 10.0
_CREATED = "created"
"""The member of a key, of our own, that tells when it was made: seconds since 1970."""


@dataclass(frozen=True)
class PushKey:
    """A key with its private part, and when it was made."""

    kid: str
    created: datetime
    key: RSAKey


class PushKeys:
    """The keys of a file. Every method may wait for the disk.

    Args:
        path: the file; it is made when the first token is to be signed.
        now: what tells the time.
    """

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self._path = path
        self._now = now
        self._lock = threading.Lock()
        self._seen: Hashable = None
        self._keys: Sequence[PushKey] = ()

    def signing(self) -> PushKey:
        """Return the key that signs now; keys are made and forgotten when it is time.

        FailedPrecondition where there is none, and none can be made.
        """
        with self._lock:
            self._look()
            if needs_new([each.created for each in self._keys], self._now()):
                self._renew()
            signs = signing([each.created for each in self._keys], self._now())
            return next(each for each in self._keys if each.created == signs)

    def public(self) -> list[dict[str, Any]]:
        """Return the public keys as a JWKS has them; none is made for the answer."""
        with self._lock:
            self._look()
            shown = published([each.created for each in self._keys], self._now())
            return [
                {**each.key.as_dict(private=False), "kid": each.kid}
                for each in self._keys
                if each.created in shown
            ]

    def _look(self) -> None:
        """Read the file if it has changed."""
        stamp = _stamp(self._path)
        if stamp is not None and stamp != self._seen:
            self._keys, self._seen = _read(self._path), stamp

    def _renew(self) -> None:
        """Add a key, unless another server just has; forget those that are published no more."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_SECONDS):
                self._look()
                created = [each.created for each in self._keys]
                now = self._now()
                if needs_new(created, now):
                    new = _made(now)
                    kept = published(created, now)
                    keys = [new, *(each for each in self._keys if each.created in kept)]
                    _write(self._path, keys)
                    self._keys, self._seen = keys, _stamp(self._path)
                    logger.info("%s: key %s was added", self._path, new.kid)
        except (OSError, Timeout) as error:
            if not self._keys:
                raise FailedPrecondition(
                    f"push-keys-file: {str(self._path)!r} cannot be written ({error}); a file that "
                    "the server may make, or one that has keys, is accepted"
                ) from None
            logger.warning("%s: no new key can be added: %s", self._path, error)


def _made(now: datetime) -> PushKey:
    kid = secrets.token_hex(8)
    parameters: Any = {"kid": kid, "use": "sig", "alg": ALGORITHM}
    return PushKey(kid, now, RSAKey.generate_key(_BITS, parameters=parameters))


def _read(path: Path) -> Sequence[PushKey]:
    """Return the keys of a file, the newest first; FailedPrecondition if it is none of ours."""
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and mode & 0o007:
            raise FailedPrecondition(
                f"push-keys-file: everybody may read {str(path)!r}; one that others cannot read is "
                f"accepted, as after chmod 600 {path}"
            )
        found = [
            PushKey(each["kid"], datetime.fromtimestamp(each[_CREATED], UTC), _imported(each))
            for each in json.loads(path.read_bytes())["keys"]
        ]
    except (OSError, ValueError, KeyError, TypeError, JoseError) as error:
        raise FailedPrecondition(
            f"push-keys-file: {str(path)!r} cannot be read ({type(error).__name__}: {error}); a "
            "file that a server has made is accepted, or none, to be made"
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
    """Put a file in its place that is whole, and that only its owner may read from the start."""
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
