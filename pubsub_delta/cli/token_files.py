"""Files that hold a bearer token."""

from __future__ import annotations

from pathlib import Path

from pubsub_delta.errors import InvalidArgument


def read_token(file: Path | None, setting: str) -> str | None:
    """Return the token in a file, None without one; InvalidArgument naming the setting.

    Blanks and line ends around it are not part of it, nor is the byte order mark of Windows.
    """
    if file is None:
        return None
    try:
        return file.read_bytes().decode("utf-8-sig").strip()
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a null character in the name
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InvalidArgument(
            f"{setting}: {str(file)!r} cannot be read ({why}); a text file with a token is accepted"
        ) from None
