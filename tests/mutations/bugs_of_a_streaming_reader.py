"""Bugs of what a reader of the pages on streams, callbacks, tables and views has found."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_STREAMING_READER = (
    Bug(
        "unrun-result-is-none",
        "A function that returns a coroutine has processed its messages, for a query.",
        "policy/arguments.py",
        "        if isinstance(found, _UNFINISHED):\n",
        "        if False:\n",
    ),
    Bug(
        "callback-as-it-is-given",
        "What a callback returns is not looked at: a message stays outstanding without a word.",
        "subscriber.py",
        '        callback = check_function(callback, "callback", "a message")\n',
        '        check_function(callback, "callback", "a message")\n',
    ),
    Bug(
        "flow-control-of-another-kind",
        "A publisher takes the flow control of a subscriber, and each of its publishes fails.",
        "publisher.py",
        '        check_settings(flow_control, PublishFlowControl, "flow_control")\n',
        "",
    ),
    Bug(
        "flow-control-of-google",
        "A subscriber takes the flow control of Google's client, and ends in an error of Python.",
        "subscriber.py",
        '        check_settings(flow_control, FlowControl, "flow_control")\n',
        "",
    ),
    Bug(
        "null-in-the-path-of-a-table",
        "The path of a table may have a NUL, which ends in an error of Python.",
        "policy/table_configs.py",
        ' or "\\0" in table:',
        ":",
    ),
)
