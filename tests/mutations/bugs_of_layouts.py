"""Bugs of how a store's layout version is compared with this library's."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_LAYOUTS = (
    Bug(
        "newer-layout-taken",
        "A store of a newer layout is read as if it were of this one.",
        "tables/layout_version.py",
        "if found == str(LAYOUT_VERSION):",
        'if (found or "") >= str(LAYOUT_VERSION):',
    ),
    Bug(
        "unmarked-layout-taken",
        "A table without a layout version is taken for one of this library's.",
        "tables/layout_version.py",
        "found = properties.get(PROPERTY)",
        "found = properties.get(PROPERTY, str(LAYOUT_VERSION))",
    ),
    Bug(
        "layout-compared-at-start-only",
        "A process that runs does not notice that the store was upgraded.",
        "tables/registry/resource_table.py",
        "                self._check_layout_version()  # rows of another layout might not be read",
        "                if last is None:\n"
        "                    self._check_layout_version()  # rows might not be read",
    ),
    Bug(
        "directory-of-a-schema-is-a-root",
        "A store in a catalog is opened by its directory, where messages seem to be gone.",
        "tables/layout_version.py",
        'if properties.get(CATALOG_PROPERTY) == "true" and path_of(table) is not None:',
        "if CATALOG_PROPERTY in properties and path_of(table) is None:",
    ),
    Bug(
        "layout-of-thousands-of-digits",
        "A store whose layout version has thousands of digits ends in an undocumented error.",
        "tables/layout_version.py",
        "found.isdigit() and len(found) < 10):",
        "found.isdigit()):",
    ),
)
