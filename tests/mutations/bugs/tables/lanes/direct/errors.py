"""Seeded bugs of ``tables/lanes/direct/errors.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_storage_failures.py",
    "tests/unit/test_forked_processes.py",
    "tests/lanes/test_added_columns.py",
    "tests/lanes/test_tables.py",
)

BUGS = (
    Bug(
        "a-missing-file-is-a-matter-of-keys",
        "A file that is gone is told as a storage that refuses its keys.",
        " or _ABSENT.search(text):",
        ":",
    ),
    Bug(
        "an-outage-is-a-refusal",
        "A put that may have landed is told as one that was refused.",
        "(?:400|401|403|404) [A-Z]",
        "(?:400|401|403|404|503) [A-Z]",
    ),
    Bug(
        "busy-storage-is-no-error-of-ours",
        "A storage that is busy, or resets connections, ends consumers by an OSError.",
        "refused(table, error) or unavailable(table, error) or translate_error_of(table, error)",
        "refused(table, error) or translate_error_of(table, error)",
    ),
    Bug(
        "any-answer-is-a-storage-that-is-busy",
        "An object store without conditional puts is told as one that is busy, and asked for ever.",
        "if answer[1] not in _TEMPORARY_ANSWERS:",
        "if False:",
    ),
    Bug(
        "the-second-try-tells-why",
        "A storage that cannot be reached is told by what the second of several tries had met.",
        'lines = text.split("HTTP error")[-1].splitlines()',
        'lines = text.split("HTTP error", 1)[-1].splitlines()',
    ),
    Bug(
        "missing-bucket-is-no-refusal",
        "A bucket that does not exist is not told as a refusal of the storage.",
        "((?:400|401|403|404) ",
        "((?:400|401|403) ",
    ),
    Bug(
        "unreadable-directory-is-no-table",
        "A table whose directory this process may not read counts as missing.",
        'if "Permission denied" not in text and "os error 13" not in text:\n            return',
        'if "Permission denied" not in text or "os error 13" not in text:\n            return',
    ),
    Bug(
        "features-end-in-deltalakes-error",
        "A table with a feature that deltalake does not write ends in an error of deltalake's.",
        "    of_features = isinstance(error, DeltaError) and _FEATURES.search(text)\n",
        "    of_features = False\n",
    ),
    Bug(
        "what-a-table-forbids-ends-in-deltalakes-error",
        "A table that another program has made append-only ends in an error of deltalake's.",
        "    if isinstance(error, DeltaError) and _FORBIDDEN.search(text):\n",
        "    if isinstance(error, OSError) and _FORBIDDEN.search(text):\n",
    ),
    Bug(
        "azure-without-an-account-is-no-error-of-ours",
        "Who names no storage account of Azure sees coloured text of deltalake's.",
        "    if _NO_ACCOUNT in text:",
        "    if _NO_ACCOUNT in table:",
    ),
)
