"""Seeded bugs of ``tables/layout_version.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_layout_version.py",)

BUGS = (
    Bug(
        "newer-layout-taken",
        "A store of a newer layout is read as if it were of this one.",
        "if found == str(LAYOUT_VERSION):",
        'if (found or "") >= str(LAYOUT_VERSION):',
    ),
    Bug(
        "unmarked-layout-taken",
        "A table without a layout version is taken for one of this library's.",
        "found = properties.get(PROPERTY)",
        "found = properties.get(PROPERTY, str(LAYOUT_VERSION))",
    ),
    Bug(
        "directory-of-a-schema-is-a-root",
        "A store in a catalog is opened by its directory, where messages seem to be gone.",
        'if properties.get(CATALOG_PROPERTY) == "true" and path_of(table) is not None:',
        "if CATALOG_PROPERTY in properties and path_of(table) is None:",
    ),
    Bug(
        "layout-of-thousands-of-digits",
        "A store whose layout version has thousands of digits ends in an undocumented error.",
        "found.isdigit() and len(found) < 10):",
        "found.isdigit()):",
    ),
)
