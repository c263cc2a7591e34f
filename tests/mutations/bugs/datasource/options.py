"""Seeded bugs of ``datasource/options.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_data_source_options.py",)

BUGS = (
    Bug(
        "subscription-of-a-typing-error",
        "A query of our own names a subscription that is not there, and gets one that is empty.",
        'return self.is_of_databricks and self.get("topic") is not None',
        'return self.get("topic") is not None',
    ),
    Bug(
        "columns-of-the-other-connector",
        "A query that was written for the other connector finds none of its columns.",
        'is_of_databricks |= name == "subscriptionId"',
        'is_of_databricks |= name == "subscription"',
    ),
    Bug(
        "root-of-the-environment",
        "The environment's store is taken although an option names another one.",
        'found.setdefault(name, _absolute(text) if name == "root" else text)',
        'found[name] = _absolute(text) if name == "root" else text',
    ),
    Bug(
        "root-of-the-task",
        "A task takes a relative root from its own working directory, and its file is lost.",
        "return root if layout.in_catalog else layout.base",
        "return root if layout.in_catalog else root.rstrip('/')",
    ),
    Bug(
        "path-with-a-slash",
        "The root and the same path with a slash or a scheme are taken for two stores.",
        "return (on_disk(one) or one) == (on_disk(other) or other)",
        "return one == other",
    ),
    Bug(
        "table-without-options",
        "CREATE TABLE is refused for an option that the user never gave.",
        'if any(key.lower() == "provider" for key in given):',
        "if False:",
    ),
    Bug(
        "option-ignored",
        "An option that means nothing for a use is taken without a word.",
        "if name not in accepted:",
        "if False:",
    ),
    Bug(
        "a-root-of-the-environment-is-relative",
        "Tasks look for a relative root of the environment below their own directories.",
        'found.setdefault(name, _absolute(text) if name == "root" else text)',
        "found.setdefault(name, text)",
    ),
    Bug(
        "loaded-path-stays-relative",
        'load("./pubsub") is a directory of each task\'s own.',
        'value = _absolute(value) if plain == "root" else value',
        'value = _absolute(value) if name == "root" else value',
    ),
    Bug(
        "option-of-a-stream-of-zero",
        "maxMessagesPerTrigger of 0 is accepted.",
        'if not re.fullmatch(r"\\d{1,18}", text) or not int(text):\n'
        '            raise InvalidArgument(f"{name}',
        'if not re.fullmatch(r"\\d{1,18}", text):\n            raise InvalidArgument(f"{name}',
    ),
    Bug(
        "kilobytes-are-bytes",
        "maxBytesPerTrigger of 64k means 64 bytes.",
        '_FACTORS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}',
        '_FACTORS = {"": 0, "k": 0, "m": 20, "g": 30, "t": 40}',
    ),
    Bug(
        "backlog-as-of-then-is-that-of-now",
        "A read of a backlog as of a version or a time shows the one of now.",
        '            if name in _OF_A_TOPIC and self.get("backlog") is not None:\n',
        "            if False:\n",
    ),
)
