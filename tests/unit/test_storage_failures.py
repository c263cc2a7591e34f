"""What ``deltalake`` says of an object store, as it says it, in the words of this library."""

from __future__ import annotations

import pytest
from deltalake.exceptions import DeltaError

from pubsub_delta.errors import DataLoss, FailedPrecondition, Unavailable
from pubsub_delta.tables.lanes.direct.errors import refused, translating_errors, unavailable
from pubsub_delta.tables.lanes.protocol import Conflict
from pubsub_delta.tables.lanes.storage_errors import translate_error

TABLE = "delta.`s3a://bucket/store/topics`"
LOCAL = "delta.`/data/store/topics`"
LIST = "Kernel error -> Generic S3 error\n \x1b[31m↳\x1b[0m Error performing list request\n"
KEY = (
    "Kernel error -> The operation lacked the necessary privileges to complete for path t/_log\n"
    " \x1b[31m↳\x1b[0m Error performing GET http://h/b in 35ms - Server returned non-2xx status "
    "code\n  \x1b[31m↳\x1b[0m 403 Forbidden\n   <Error><Code>SignatureDoesNotMatch</Code></Error>"
)
BUCKET = (
    f"{LIST}  \x1b[31m↳\x1b[0m Error performing GET http://h/b - Server returned non-2xx status "
    "code\n  \x1b[31m↳\x1b[0m 404 Not Found\n  <Error><Code>NoSuchBucket</Code></Error>"
)
TOKEN = "Error performing PUT - Server returned non-2xx status code: 400 Bad Request: <Code>ExpiredToken</Code>"  # noqa: E501
FILE = (
    "Object at location t/a.parquet not found: Error performing GET http://h/b/t/a.parquet - "
    "Server returned non-2xx status code: 404 Not Found: <Code>NoSuchKey</Code>"
)
RESET = (
    "Error performing PUT http://h/b in 4s, after 10 retries - HTTP error: error sending request"
)
SLOW_DOWN = (
    "Error performing GET - Server returned non-2xx status code\n  \x1b[31m↳\x1b[0m 429 Too Many "
    "Requests\n  \x1b[31m↳\x1b[0m <Error><Code>SlowDown</Code></Error>"
)
BUSY = "Error performing PUT - Server returned non-2xx status code: 503 Service Unavailable: "
NO_KEYS = "the credential provider was not enabled\n ↳ no credentials found in chain. Attempted:"
NO_ACCOUNT = "Generic MicrosoftAzure error\n \x1b[31m↳\x1b[0m Account must be specified\n"
GONE = (
    f"{LIST} ↳ 180s  - HTTP error\n \x1b[31m↳\x1b[0m error sending request\n"
    " \x1b[31m↳\x1b[0m client error (Connect)\n \x1b[31m↳\x1b[0m tcp connect error\n"
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (KEY, "refuses it (403 Forbidden, SignatureDoesNotMatch); keys and endpoints come from"),
        (BUCKET, "refuses it (404 Not Found, NoSuchBucket)"),
        (TOKEN, "refuses it (400 Bad Request, ExpiredToken)"),
        (NO_KEYS, "there are no credentials for its storage"),
        (NO_ACCOUNT, "its storage account is not named; the environment"),
    ],
)
def test_a_storage_that_says_no_is_told_with_its_own_code(text: str, why: str) -> None:
    told = refused(TABLE, OSError(text))
    assert isinstance(told, FailedPrecondition)
    assert why in str(told)
    with pytest.raises(FailedPrecondition), translating_errors(TABLE):
        raise OSError(text)


def test_a_file_that_is_gone_is_no_matter_of_keys() -> None:
    assert refused(TABLE, OSError(FILE)) is None
    with pytest.raises(DataLoss), translating_errors(TABLE):
        raise OSError(FILE)


@pytest.mark.parametrize("kind", [OSError, DeltaError])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GONE, "cannot be reached (error sending request: client error (Connect): tcp connect"),
        (RESET, "cannot be reached (error sending request)"),
        (BUSY, "cannot do it now (503 Service Unavailable); try again later"),
        (SLOW_DOWN, "cannot do it now (429 Too Many Requests, SlowDown); try again later"),
    ],
)
def test_a_storage_that_is_away_or_busy_is_unavailable(
    text: str, why: str, kind: type[Exception]
) -> None:
    """Unavailable: the storage cannot be reached; a later try can succeed."""
    assert refused(TABLE, kind(text)) is None
    with pytest.raises(Unavailable) as told, translating_errors(TABLE):
        raise kind(text)
    assert why in str(told.value)


@pytest.mark.parametrize(
    "status", ["501 Not Implemented", "409 Conflict", "412 Precondition Failed"]
)
def test_an_answer_that_stays_the_same_is_not_told_as_a_storage_that_is_busy(status: str) -> None:
    assert unavailable(TABLE, OSError(BUSY.replace("503 Service Unavailable", status))) is None


def test_a_storage_that_is_not_there_is_told_to_who_opens_a_table() -> None:
    told = unavailable(TABLE, OSError(GONE))
    assert isinstance(told, Unavailable)
    assert "cannot be reached (error sending request: client error (Connect)" in str(told)
    twice = unavailable(TABLE, OSError(f"{GONE}HTTP error\n dns error\n no such host"))
    assert "cannot be reached (dns error: no such host)" in str(twice), "the last try tells why"
    bare = unavailable(TABLE, OSError("dns error\n no such host"))
    assert "cannot be reached (dns error: no such host)" in str(bare)


def test_nothing_of_it_is_said_of_a_local_disk() -> None:
    assert refused(LOCAL, OSError(KEY)) is None
    assert unavailable(LOCAL, OSError(GONE)) is None


def test_a_lost_race_is_a_conflict() -> None:
    from deltalake.exceptions import CommitFailedError

    with pytest.raises(Conflict), translating_errors(TABLE):
        raise CommitFailedError("Failed to commit transaction: 0")


@pytest.mark.parametrize(
    "why", ["Permission denied (os error 13)", "Permission denied", "os error 13"]
)
def test_a_table_that_this_process_may_not_read_is_not_missing(why: str) -> None:
    """A table that counts as missing would be created anew, and its resources be gone."""
    from deltalake.exceptions import TableNotFoundError

    with pytest.raises(FailedPrecondition, match="permission"), translating_errors(LOCAL):
        raise TableNotFoundError(f"Generic error: Unable to walk dir: {why}")


MESSAGES = f"/data/store/messages/{1:032x}"
CATALOG = "`main`.`pubsub`.`topics`"


@pytest.mark.parametrize(
    ("file", "asked", "told"),
    [
        ("/data/store/topics/a.parquet", LOCAL, LOCAL),
        ("file:///data/store/topics/_delta_log/0.json", LOCAL, LOCAL),
        (f"{MESSAGES}/a.parquet", LOCAL, f"delta.`{MESSAGES}`"),
        (f"file:{MESSAGES}/a.parquet", None, f"delta.`{MESSAGES}`"),
        ("/data/other/a.parquet", LOCAL, None),
        ("/data/store/topics_of_others/a.parquet", LOCAL, None),
        ("/data/other/a.parquet", None, None),
        ("/warehouse/main/topics/a.parquet", CATALOG, CATALOG),
        ("/usr/lib/python3/json/decoder.py", LOCAL, LOCAL),
        (None, LOCAL, LOCAL),
        (None, None, None),
    ],
)
def test_a_damaged_file_is_told_with_the_table_that_has_it(
    file: str | None, asked: str | None, told: str | None
) -> None:
    """ "An error that names a file outside of the table is not" about it: a caller's own, say."""
    text = f"FileNotFoundException: {file} is gone" if file else "Parquet magic bytes not found"
    found = translate_error(OSError(text), asked)
    assert (found and str(found).split(": ")[0]) == told
    assert told is None or isinstance(found, DataLoss)
