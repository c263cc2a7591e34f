"""Bugs that take data from elsewhere for what it is not, or for nothing."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ROWS = "delivery/message_rows.py"

BUGS_OF_GIVEN_DATA = (
    Bug(
        "numbers-are-published",
        "A column of numbers is published as messages, and a zero as no data.",
        _ROWS,
        "if name in names and not fits(table.field(name).type):",
        "if name in names and fits is None:",
    ),
    Bug(
        "names-are-published",
        "Of a DataFrame of pandas the names of the columns are published.",
        _ROWS,
        "elif _is_other_table(what):",
        "elif isinstance(what, set):",
    ),
    Bug(
        "any-type-is-sorted",
        "Arrow is asked to sort a column of any type, and ends the process at some.",
        _ROWS,
        "if is_sortable(type_):",
        "if not is_text(type_):",
    ),
    Bug(
        "null-comes-last",
        "An Arrow table is published in another order of its column than a DataFrame of its rows.",
        _ROWS,
        'keys = [("is_valid", "ascending"), ("value", "ascending")]',
        'keys = [("value", "ascending")]',
    ),
    Bug(
        "ack-ids-in-no-utf8",
        "An Arrow array of texts that are no UTF-8 is an error that is not documented.",
        "operations/acknowledge.py",
        "    except UnicodeDecodeError as error:",
        "    except LookupError as error:",
    ),
    Bug(
        "half-a-surrogate-pair",
        "A name in JSON that is half of a surrogate pair is an error of the server.",
        "server/rest/payload.py",
        "        if _SURROGATE.search(text):",
        "        if not text:",
    ),
    Bug(
        "encoded-texts-are-refused",
        "A column of texts that a dictionary encodes is refused.",
        "tables/arrow_types.py",
        "return type_.value_type if is_encoded else type_",
        "return type_",
    ),
    Bug(
        "assigned-columns-are-refused",
        "A table that was read from a topic cannot be published, for its message ids.",
        _ROWS,
        "(*_TYPES, *_IGNORED, order_by)",
        "(*_TYPES, order_by)",
    ),
    Bug(
        "false-is-true",
        'A duty that a job gives as the text "false" is done.',
        "operations/maintain.py",
        'if each.name != "log_retention":',
        'if each.name == "exact":',
    ),
    Bug(
        "exact-is-any-text",
        'Metrics are measured exactly where a job gives the text "false".',
        "methods/metrics.py",
        '    check_switch(exact, "exact")\n    now = ',
        "    now = ",
    ),
    Bug(
        "error-of-a-generator-is-another",
        "An error of the generator of a program is told as that it is no list of messages.",
        "delivery/message_rows.py",
        "        given = iter(what)\n",
        "        given = iter(list(what))\n",
    ),
    Bug(
        "error-of-a-generator-of-ack-ids-is-another",
        "An error of the generator of a program is told as that it is no list of ack ids.",
        "operations/acknowledge.py",
        "        each = iter(given)\n",
        "        each = iter(list(given))\n",
    ),
    Bug(
        "coroutine-is-a-callback",
        "A query acknowledges what its coroutine would have processed, and runs nothing of it.",
        "policy/arguments.py",
        "    if not callable(function) or not runs:\n",
        "    if not callable(function):\n",
    ),
    Bug(
        "process-may-be-a-coroutine",
        "A query takes a coroutine, and acknowledges what it does not run.",
        "streaming.py",
        '    process = check_function(process, "process", "a DataFrame and a number")\n',
        "",
    ),
)
