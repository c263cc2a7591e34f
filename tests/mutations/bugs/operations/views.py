"""Seeded bugs of ``operations/views.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_views.py",)

BUGS = (
    Bug(
        "damaged-table-ends-all-views",
        "One damaged topic keeps all views from being created.",
        "except DataLoss as why:  # the table",
        "except TableMissing as why:  # the table",
    ),
    Bug(
        "view-replaces-what-came",
        "A view that was not there is created over what somebody else has made meanwhile.",
        "        replace = identity is not None\n",
        "        replace = True\n",
    ),
    Bug(
        "view-of-others-taken-for-ours",
        "A view without our mark is replaced.",
        "    if identity is None:\n        raise _Refused(_TAKEN)\n    return identity\n",
        '    return mark or {"digest": ""}\n',
    ),
    Bug(
        "views-end-at-a-lost-ack-state",
        "One ack state that is gone ends create_views, and no view is made.",
        "        except DataLoss as why:\n            if subscription.uid",
        "        except NotFound as why:\n            if subscription.uid",
        needs_spark=("tests/delta/test_views.py",),
    ),
    Bug(
        "views-end-at-a-lost-topic",
        "One topic whose messages are gone ends create_views before all views are made.",
        "except DataLoss as why:  # the table",
        "except NotFound as why:  #",
        needs_spark=("tests/delta/test_views.py",),
    ),
    Bug(
        "view-of-a-table-of-the-store",
        "A topic called schemas has no view in a catalog.",
        '"snapshots", "schemas")',
        '"snapshots")',
        needs_spark=("tests/delta/test_views.py",),
    ),
    Bug(
        "view-dropped-by-another",
        "Of two programs that make the views of a store at the same time one ends with an error.",
        "with suppress(TableMissing, Conflict):",
        "with suppress(Conflict):",
    ),
    Bug(
        "views-of-a-session-are-refused",
        "create_views of a store on a path asks for a schema, though temporary is not given.",
        "if temporary is False and own is None:",
        "if not temporary and own is None:",
    ),
    Bug(
        "unchanged-views-do-not-exist",
        "A report of create_views lists no view that was unchanged.",
        "return tuple(sorted((*self.created, *self.replaced, *self.unchanged)))",
        "return tuple(sorted((*self.created, *self.replaced)))",
    ),
    Bug(
        "detached-is-shown",
        "create_views makes a view of a detached subscription.",
        "        if topic_uid is None or subscription.detached:\n",
        "        if topic_uid is None:\n",
        needs_spark=(
            "tests/delta/test_views.py::test_views_follow_what_is_created_deleted_and_created_anew",
        ),
    ),
    Bug(
        "schema-of-views-is-told-as-a-root",
        "The error of a schema of views that is none names the root of the store.",
        'layout_of(schema, "schema")',
        "layout_of(schema)",
    ),
    Bug(
        "absent-store-loses-its-views",
        "create_views drops all views of a store whose disk is not mounted.",
        "    tables.check_created()  # else all views are dropped while a disk is not mounted\n",
        "",
    ),
    Bug(
        "views-of-a-directory-ask-for-another-option",
        "The refusal of jobs/create_views.py for a directory names an option that it has not.",
        'f"schema: it is not given, and the store',
        'f"temporary: False, and the store',
    ),
)
