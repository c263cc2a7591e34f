"""Content-Encoding: bodies that clients have compressed.

Google's generated clients for Java compress every body with gzip.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

from pubsub_delta.errors import InvalidArgument, shortened

_GZIP = 16 + zlib.MAX_WBITS
"""zlib: a header and a trailer of gzip."""
_PART = 65_536
"""Bytes of one part."""


class Identity:
    """The decoder of a body that is not compressed."""

    def parts(self, data: bytes) -> Iterator[bytes]:
        """Yield the body in ``data``."""
        yield data

    def check_end(self) -> None:
        """Raise InvalidArgument if the body has not ended."""


class Gzip:
    """The decoder of a body in gzip: one member or several, one after the other (RFC 1952)."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._has_begun = False

    def parts(self, data: bytes) -> Iterator[bytes]:
        """Yield what ``data`` decompresses to, in parts of at most 64 KiB.

        A few bytes may be a thousand times as many: who reads the parts can stop in time.
        """
        while data:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
            self._has_begun = True
            try:
                part = self._member.decompress(data, _PART)
            except zlib.error:
                raise InvalidArgument(
                    "Content-Encoding: the body is not in gzip; a body in gzip, or an uncompressed "
                    "one without this header, is accepted"
                ) from None
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            yield part

    def check_end(self) -> None:
        """Raise InvalidArgument if the last member has not ended; no bytes are an empty body."""
        if self._has_begun and not self._member.eof:
            raise InvalidArgument(
                "Content-Encoding: the body in gzip is cut off; send it to its end"
            )


def decoder(headers: Mapping[str, str]) -> Identity | Gzip:
    """Return the decoder of a body; InvalidArgument for an encoding other than gzip."""
    encoding = headers.get("content-encoding", "identity")
    name = encoding.strip().lower()
    if name == "identity":
        return Identity()
    if name in ("gzip", "x-gzip"):  # RFC 9110, 8.4.1.3: the two are the same
        return Gzip()
    raise InvalidArgument(
        f"Content-Encoding: {shortened(encoding, 60)!r}; gzip and an uncompressed body are accepted"
    )
