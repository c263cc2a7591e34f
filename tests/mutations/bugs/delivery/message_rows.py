"""Seeded bugs of ``delivery/message_rows.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_arrow_from_elsewhere.py",
    "tests/unit/test_publish_calls.py",
)

BUGS = (
    Bug(
        "arrow-key-twice",
        "Of an attribute that appears twice in a row of an Arrow table the first value is lost.",
        "if pairs is not None and len(attributes) < len(pairs):",
        "if pairs is not None and len(attributes) < 0:",
    ),
    Bug(
        "numbers-are-published",
        "A column of numbers is published as messages, and a zero as no data.",
        "if name in names and not fits(table.field(name).type):",
        "if name in names and fits is None:",
    ),
    Bug(
        "names-are-published",
        "Of a DataFrame of pandas the names of the columns are published.",
        "elif _is_other_table(what):",
        "elif isinstance(what, set):",
    ),
    Bug(
        "any-type-is-sorted",
        "Arrow is asked to sort a column of any type, and ends the process at some.",
        "if is_sortable(type_):",
        "if not is_text(type_):",
    ),
    Bug(
        "null-comes-last",
        "An Arrow table is published in another order of its column than a DataFrame of its rows.",
        'keys = [("is_valid", "ascending"), ("value", "ascending")]',
        'keys = [("value", "ascending")]',
    ),
    Bug(
        "assigned-columns-are-refused",
        "A table that was read from a topic cannot be published, for its message ids.",
        "(*_TYPES, *_IGNORED, order_by)",
        "(*_TYPES, order_by)",
    ),
    Bug(
        "error-of-a-generator-is-another",
        "An error of the generator of a program is told as that it is no list of messages.",
        "        given = iter(what)\n",
        "        given = iter(list(what))\n",
    ),
    Bug(
        "column-twice",
        "Of two columns of one name in an Arrow table the first is lost without a word.",
        "twice = next((name for name in names if names.count(name) > 1), None)",
        "twice = None",
    ),
    Bug(
        "index-of-the-first",
        "The error of an Arrow row that breaks a rule names the first row.",
        "[as_message(value, index) for index, value in enumerate(given)]",
        "[as_message(value, 0) for value in given]",
    ),
    Bug(
        "null-key-is-none",
        "An Arrow table with a null in ordering_key cannot be published.",
        '"" if key is None else key',
        "key",
    ),
    Bug(
        "order-by-may-name-no-column",
        "order_by with a column that is not there is a KeyError.",
        "    if order_by is not None and order_by not in names:",
        "    if order_by is not None and not names:",
    ),
    Bug(
        "half-precision-order-is-an-error-of-arrows",
        "order_by with half-precision numbers is an ArrowTypeError.",
        "    except (pa.ArrowException, NotImplementedError):",
        "    except NotImplementedError:",
    ),
)
