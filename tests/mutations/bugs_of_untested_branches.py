"""Bugs in branches that no test without Java ran until their coverage was measured."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_UNTESTED_BRANCHES = (
    Bug(
        "storage-that-fails-after-a-lease-ends-its-pull",
        "A pull fails, and holds what it has leased, as dead letters cannot be forwarded now.",
        "delivery/consuming.py",
        "        except Exception as error:  # what was decided",
        "        except KeyError as error:  # what was decided",
    ),
    Bug(
        "dead-letters-overtake-those-that-could-not-be-written",
        "The second part of many dead letters is appended though the first one was not.",
        "delivery/dead_letters.py",
        "        if target in unwritable:",
        "        if target in unwritable and count:",
    ),
    Bug(
        "dead-letters-that-cannot-be-measured-end-every-pull",
        "A subscription with many damaged dead letters delivers nothing any more.",
        "delivery/dead_letters.py",
        "    except Exception:  # unreadable messages are reported",
        "    except KeyError:  # unreadable messages are reported",
    ),
    Bug(
        "row-that-was-changed-meanwhile-counts-as-deleted",
        "A deletion is told as done though an update was faster, and the resource is still there.",
        "tables/registry/resource_table.py",
        "                if self._lane.delete(self._table, unchanged, self._new_id()):",
        "                if self._lane.delete(self._table, unchanged, self._new_id()) >= 0:",
    ),
    Bug(
        "creation-that-lost-a-race-was-there-before",
        "Who creates a resource while another one is created is told that it exists.",
        "tables/registry/resource_table.py",
        '            if self.row(row["uid"]) is None:\n                raise',
        '            if self.row(row["uid"]) is None:\n                return False',
    ),
    Bug(
        "topic-is-deleted-twice",
        "Of two that delete a topic at the same time both are told that they have.",
        "tables/registry/registry.py",
        "            if not is_living(row):",
        "            if row is None:",
    ),
    Bug(
        "snapshot-is-deleted-twice",
        "Of two that delete a snapshot at the same time both are told that they have.",
        "operations/snapshot.py",
        "    if not tables.registry.hide_snapshot(stored.uid, wanted):",
        "    if not tables.registry.hide_snapshot(stored.uid, wanted) and wanted:",
    ),
    Bug(
        "schema-is-deleted-twice",
        "Of two that delete a schema at the same time both are told that they have.",
        "operations/schemas.py",
        "    if not tables.registry.schemas.remove(tables.schema(name).uid):",
        "    if tables.registry.schemas.remove(tables.schema(name).uid) is None:",
    ),
    Bug(
        "revision-of-a-deleted-schema-is-an-error-of-ours",
        "Who deletes a revision while another deletes the schema sees an AttributeError.",
        "operations/schemas.py",
        "    if tables.registry.schemas.change(schema.uid, decide) is None or gone is None:",
        "    if tables.registry.schemas.change(schema.uid, decide) is not None and gone is None:",
    ),
)
