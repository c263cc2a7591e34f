"""The errors of the library, named by Google's canonical codes.

PubSubError
├── InvalidArgument     INVALID_ARGUMENT     the request is wrong; sending it again cannot help
├── NotFound            NOT_FOUND            the named resource does not exist
├── AlreadyExists       ALREADY_EXISTS       the name is taken, whatever its configuration
├── FailedPrecondition  FAILED_PRECONDITION  the resource is not in a state that allows this
├── Aborted             ABORTED              others wrote at the same time; nothing was written
├── ResourceExhausted   RESOURCE_EXHAUSTED   a limit is reached; later there may be room again
├── Unavailable         UNAVAILABLE          storage or server cannot do it now; try again later
├── Unimplemented       UNIMPLEMENTED        a part of Pub/Sub that this version does not have
├── DataLoss            DATA_LOSS            stored data is damaged or missing
└── Unknown             UNKNOWN              a commit may have landed, and nothing tells whether

Every message says what was wrong, the offending value, and what would be accepted. A value can be
megabytes long; then the middle of the message is left out.
"""

from __future__ import annotations

from typing import ClassVar

LONGEST_MESSAGE = 3_000
"""Characters of an error's message."""


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error that says something, or else the name of its class.

    >>> first_line(ValueError("\nno such column: late\nat row 7")), first_line(KeyError())
    ('no such column: late', 'KeyError')
    """
    return _first_of(str(error)) or type(error).__name__


def with_class(error: BaseException, text: str | None = None) -> str:
    r"""Return the class and the first line of an error, or of another text of it.

    >>> with_class(ValueError("\n no such column\nat row 7")), with_class(KeyError())
    ('ValueError: no such column', 'KeyError')
    """
    line = _first_of(str(error) if text is None else text)
    return f"{class_name(error)}: {line}" if line else class_name(error)


def _first_of(text: str) -> str:
    """Return the first line of a text that is not blank; errors of a JVM can begin with some."""
    return next(filter(None, map(str.strip, text.splitlines())), "")


def shortened(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters, without its middle if it is longer.

    The beginning of an error says what was wrong, its end what would be accepted.

    >>> shortened("name: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is too long", 45)
    "name: 'aaaaaaa… (36 left out) …a' is too long"
    """
    if len(text) <= most:
        return text
    room = max(0, most - len(_gap(len(text))))
    end = room // 2
    begin = room - end
    return text[:begin] + _gap(len(text) - room) + text[len(text) - end :]


def as_utf8(text: str) -> str:
    r"""Return a text that can be written as UTF-8: half a surrogate pair becomes its escape.

    >>> as_utf8("name: \ud800")
    'name: \\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _gap(count: int) -> str:
    return f"… ({count:,} left out) …"


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    >>> counted(1, "batch"), counted(2000, "message"), counted(2, "batch")
    ('1 batch', '2,000 messages', '2 batches')
    """
    plural = "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}{plural if count != 1 else ''}"


class PubSubError(Exception):
    """The base class of every error that pubsub_delta raises.

    Its message has at most ``LONGEST_MESSAGE`` characters, and can be written as UTF-8.
    """

    code: ClassVar[str] = "UNKNOWN"

    def __init__(self, *args: object) -> None:
        super().__init__(
            *(
                shortened(as_utf8(each), LONGEST_MESSAGE) if isinstance(each, str) else each
                for each in args
            )
        )


class InvalidArgument(PubSubError, ValueError):
    """The request breaks a rule; the state of the store does not matter."""

    code = "INVALID_ARGUMENT"


class NotFound(PubSubError, LookupError):
    """A resource that the request names does not exist."""

    code = "NOT_FOUND"


class AlreadyExists(PubSubError):
    """A resource of that name exists, even if its configuration is identical."""

    code = "ALREADY_EXISTS"


class FailedPrecondition(PubSubError):
    """The store or the resource is not in a state that permits the call."""

    code = "FAILED_PRECONDITION"


class Aborted(PubSubError):
    """Concurrent writers were faster at each attempt, or since ``if_unchanged`` was read.

    Or another process held the lock of a table on a local disk for too long. Nothing was written.
    It is safe to try again; read ``if_unchanged`` again first.
    """

    code = "ABORTED"


class ResourceExhausted(PubSubError):
    """A limit of pending work is reached. Nothing was done; try again when some of it has ended."""

    code = "RESOURCE_EXHAUSTED"


class Unavailable(PubSubError):
    """The storage is full or cannot be reached, or a server is shutting down.

    No message was published, and the call can be repeated. A later try can succeed.
    """

    code = "UNAVAILABLE"


class Unimplemented(PubSubError, NotImplementedError):
    """The request uses a part of Pub/Sub that this version does not have, and does not ignore."""

    code = "UNIMPLEMENTED"


class DataLoss(PubSubError):
    """Stored data is damaged or missing."""

    code = "DATA_LOSS"


class Unknown(PubSubError):
    """A commit was sent, its response was lost, and the library cannot find out if it landed."""

    code = "UNKNOWN"


class DeadLetterWarning(UserWarning):
    """Messages could not be forwarded to their dead-letter topic; they stay where they are."""


class NotMeasuredWarning(UserWarning):
    """A resource is damaged, so it has no metrics; those of the others were measured."""


class UnreadableMessageWarning(UserWarning):
    """Stored messages cannot be read: no consumer receives them, and their delivery fails."""


def class_name(error: BaseException) -> str:
    """Return the name of the class of an error: of ours the documented one.

    >>> class_name(NotFound()), class_name(OSError())
    ('NotFound', 'OSError')
    """
    return next(
        each.__name__
        for each in type(error).__mro__
        if not issubclass(each, PubSubError) or each.__module__ == PubSubError.__module__
    )
