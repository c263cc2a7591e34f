"""Bugs at lines that were drawn at random, of which the nearest tests noticed too few."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_ELEVENTH_OUTSIDER = (
    Bug(
        "times-for-machines-as-for-people",
        "The times of a page are no dates to what reads the page aloud.",
        "console/responses.py",
        "iso_time=rfc3339",
        "iso_time=formatting.timestamp",
    ),
    Bug(
        "row-groups-stay-small",
        "After its first row group a file has one for each small part.",
        "tables/lanes/direct/files.py",
        "            held, count = [], 0\n",
        "            held = []\n",
    ),
    Bug(
        "all-snapshots-are-read-for-a-few",
        "A listing of a few snapshots reads all of them.",
        "cli/snapshots.py",
        "store.list_snapshots(page_token=token), limit)",
        "store.list_snapshots(page_token=token), None)",
    ),
    Bug(
        "unknown-host-may-have-published",
        "A request to a host without an address is told as one that may have succeeded.",
        "cli/endpoint/errors.py",
        '"errors resolving", ',
        "",
    ),
    Bug(
        "weeks-without-a-p",
        "A period of weeks and days is refused where it is written without a P.",
        "cli/periods.py",
        "[0-9.,]+[YWD])*",
        "[0-9.,]+[YD])*",
    ),
    Bug(
        "deep-lists-pass",
        "JSON of lists within lists is not held against the most levels.",
        "policy/schemas/json_data.py",
        "if isinstance(each, (dict, list))\n            for inner",
        "if isinstance(each, dict)\n            for inner",
    ),
    Bug(
        "deadlines-are-not-counted",
        "A server takes any number of new deadlines while none can be written.",
        "policy/ack_buffer.py",
        "acknowledged + sum(map(len, self.deadlines.values())) + len(self.repeated)",
        "acknowledged + len(self.repeated)",
    ),
    Bug(
        "progress-counts-steps",
        "The log of a job tells how many steps it made as messages.",
        "jobs/terminal.py",
        "            done += count\n            bar",
        "            done += 1\n            bar",
    ),
    Bug(
        "number-alone-names-a-write",
        "After a RESTORE other messages count as written under a number that comes again.",
        "delivery/table_writes.py",
        'return f"{source.uid}.{number}.{digest(spans)}"',
        'return f"{source.uid}.{number}"',
    ),
    Bug(
        "reader-is-asked-to-delete",
        "A console that may change nothing offers to delete a subscription.",
        "console/subscription_edit.py",
        "def delete_form(request: Request, id_: str, _: RequiresWrite)",
        "def delete_form(request: Request, id_: str)",
    ),
    Bug(
        "labels-of-a-snapshot-are-not-checked",
        "Labels that are no labels end in an error of Python.",
        "operations/snapshot.py",
        "checked = rules.check_labels(labels)",
        "checked = dict(labels or {})",
    ),
    Bug(
        "wrong-sort-key-is-noticed-late",
        "A sort key that cannot be read ends in an error after the listing was made.",
        "cli/arguments.py",
        "        _checked(self, lambda: sort_keys(keys), param, ctx)\n",
        "",
    ),
    Bug(
        "ack-states-are-never-vacuumed",
        "The files that an ack state needs no more stay for ever.",
        "operations/maintain.py",
        "tables.ack_state_tables.vacuum(each.uid)",
        "tables.ack_state_tables.read(each.uid)",
    ),
    Bug(
        "reader-that-has-gone-is-a-full-disk",
        "A job whose output nobody reads any more is told as refused.",
        "jobs/unwritten.py",
        "    except BrokenPipeError:  # its",
        "    except TimeoutError:  # its",
    ),
    Bug(
        "revision-of-another-type",
        "A revision of a schema is stored though it is said to be of another type.",
        "server/schema_service.py",
        "self._admin.commit_schema, name, definition, type_)",
        "self._admin.commit_schema, name, definition)",
    ),
)
