"""Seeded bugs of ``console/subscription_form.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_forms.py",
    "tests/unit/test_console_form_values.py",
    "tests/lanes/test_table_console.py",
    "tests/unit/test_console_whole_pages.py",
    "tests/unit/test_console_whole_answers.py",
)

BUGS = (
    Bug(
        "first-error-alone",
        "A form tells one of its errors and not the others.",
        "        if field in fields:\n",
        "        if field in fields and not form.errors:\n",
    ),
    Bug(
        "table-lost-by-an-edit",
        "Editing any field of a subscription that writes to a table makes it a pull subscription.",
        '"push" if push else "table" if table else "pull"',
        '"push" if push else "pull"',
    ),
    Bug(
        "console-days-rounded",
        "A form shows a ttl of 1234 days as one of 1230.",
        'values["expiration_days"] = f"{_seconds(ttl) / 86_400:.10g}"',
        'values["expiration_days"] = f"{_seconds(ttl) / 86_400:.3g}"',
    ),
    Bug(
        "metadata-of-bare-data-opens-more",
        "A form that asks for the metadata of bare data opens the options that are all as usual.",
        '"unwrapped", "write_metadata")',
        '"unwrapped")',
    ),
    Bug(
        "account-for-an-audience",
        "A form takes the account of a push for its audience.",
        'account, audience = form.text("push_account"), form.text("push_audience")',
        'audience, account = form.text("push_account"), form.text("push_audience")',
    ),
    Bug(
        "columns-of-the-other-schema",
        "A form takes the fields of the topic's schema for the columns of the table, and back.",
        'use_topic_schema=form["table_columns"] == _OF_TOPIC,\n'
        '        use_table_schema=form["table_columns"] == _OF_TABLE,',
        'use_topic_schema=form["table_columns"] == _OF_TABLE,\n'
        '        use_table_schema=form["table_columns"] == _OF_TOPIC,',
    ),
    Bug(
        "metadata-for-dropped-fields",
        "A form takes one box of a table subscription for the other.",
        'write_metadata=form.is_on("table_metadata"),\n'
        '        drop_unknown_fields=form.is_on("drop_unknown"),',
        'write_metadata=form.is_on("drop_unknown"),\n'
        '        drop_unknown_fields=form.is_on("table_metadata"),',
    ),
    Bug(
        "numbers-of-python-in-forms",
        "A form takes a number as Python writes it: 1_0 seconds.",
        'float(text) if is_number(text) else float("nan")',
        'float(text) if is_number(text.replace("_", "")) else float("nan")',
    ),
    Bug(
        "one-mistake-at-a-time",
        "An edit of a subscription is told its first mistake alone.",
        'if name not in ("expiration_policy", "message_retention_duration"):',
        'if name in ("expiration_policy", "message_retention_duration"):',
    ),
)
