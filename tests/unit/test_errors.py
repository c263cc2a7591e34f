"""The tree of errors: Google's canonical codes, drawn as it is."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta import errors
from pubsub_delta.errors import LONGEST_MESSAGE, PubSubError, shortened
from pubsub_delta.tables.lanes.storage_errors import StorageRefused
from pubsub_delta.tables.store import detached

CODES: list[tuple[type[PubSubError], str]] = [
    (errors.InvalidArgument, "INVALID_ARGUMENT"),
    (errors.NotFound, "NOT_FOUND"),
    (errors.AlreadyExists, "ALREADY_EXISTS"),
    (errors.FailedPrecondition, "FAILED_PRECONDITION"),
    (errors.Aborted, "ABORTED"),
    (errors.ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (errors.Unavailable, "UNAVAILABLE"),
    (errors.Unimplemented, "UNIMPLEMENTED"),
    (errors.DataLoss, "DATA_LOSS"),
    (errors.Unknown, "UNKNOWN"),
]


def classes() -> list[type[PubSubError]]:
    return [
        each
        for _, each in inspect.getmembers(errors, inspect.isclass)
        if issubclass(each, PubSubError) and each is not PubSubError
    ]


@pytest.mark.parametrize(("error", "code"), CODES)
def test_an_error_carries_the_canonical_code_of_its_name(
    error: type[PubSubError], code: str
) -> None:
    # "each is a class in errors.py (NOT_FOUND → NotFound, and so on)"
    assert error.code == error("why").code == code
    assert error.__name__.upper() == code.replace("_", "")


def test_every_error_is_in_the_table_above() -> None:
    assert set(classes()) == {error for error, _ in CODES}


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    drawn = re.findall(r"^[├└]── (\w+) +([A-Z_]+) +\S", errors.__doc__ or "", flags=re.MULTILINE)
    assert sorted(drawn) == sorted((each.__name__, each.code) for each in classes())
    assert all(each.__mro__[1] is PubSubError for each in classes())  # one level, as it is drawn


@pytest.mark.parametrize("error", [error for error, _ in CODES])
def test_every_error_is_caught_as_the_root(error: type[PubSubError]) -> None:
    with pytest.raises(PubSubError, match="the offending value"):
        raise error("the offending value")


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InvalidArgument, ValueError),
        (errors.NotFound, LookupError),
        (errors.Unimplemented, NotImplementedError),
    ],
)
def test_errors_that_python_has_too_are_caught_by_its_names(
    error: type[PubSubError], builtin: type[Exception]
) -> None:
    assert issubclass(error, builtin)


@pytest.mark.parametrize("error", [error for error, _ in CODES])
def test_a_value_of_megabytes_does_not_make_a_message_of_megabytes(
    error: type[PubSubError],
) -> None:
    # "Every error says what was wrong, the offending value, and what would be accepted."
    told = str(error(f"labels: the key {'k' * 5_000_000!r} is too long; at most 63 are accepted"))
    assert told.startswith("labels: the key 'kkk")
    assert told.endswith("kkk' is too long; at most 63 are accepted")
    assert len(told) <= LONGEST_MESSAGE
    assert str(pickle.loads(pickle.dumps(error(told)))) == told


@pytest.mark.parametrize("error", [error for error, _ in CODES])
def test_an_error_can_be_printed_and_sent_whatever_value_it_names(
    error: type[PubSubError],
) -> None:
    """JSON can hold half of a surrogate pair, which UTF-8 cannot."""
    told = str(error("field 'a' is \ud800; a value of type long is accepted"))
    assert told.encode().decode() == r"field 'a' is \ud800; a value of type long is accepted"


@pytest.mark.parametrize("error", [detached("orders"), StorageRefused("its keys have expired")])
def test_an_error_comes_from_another_process_as_it_was(error: PubSubError) -> None:
    # Spark's workers send what ends a query to the driver.
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived)) == (type(error), str(error))


@given(st.text(), st.integers(40, 300))
def test_a_text_that_is_not_too_long_stays_as_it_is(text: str, most: int) -> None:
    assert len(shortened(text * 20, most)) <= most
    assert shortened(text, max(most, len(text))) == text
