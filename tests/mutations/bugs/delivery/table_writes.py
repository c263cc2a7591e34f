"""Seeded bugs of ``delivery/table_writes.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/unit/test_parts_by_size.py",
    "tests/lanes/test_table_storage.py",
    *TABLE_WRITES,
    "tests/lanes/test_table_ended.py",
    "tests/lanes/test_table_reasons.py",
)

BUGS = (
    Bug(
        "cancelled-without-a-commit",
        "What cannot be written any more is given back while another process may still write it.",
        "            target.cancel(key, write_id)\n",
        "            pass\n",
    ),
    Bug(
        "landed-rows-are-given-back",
        "After a crash, rows that have landed are delivered and written once more.",
        "    if outcome is Outcome.WRITTEN:\n        return written",
        "    if outcome is Outcome.WRITTEN:\n        return table_writes.given_back",
    ),
    Bug(
        "rows-of-other-messages",
        "Rows are written that were made of other messages than those that are acknowledged.",
        "prepared is not None and prepared.positions == union(spans)",
        "prepared is not None",
    ),
    Bug(
        "another-write-is-taken-for-this-one",
        "A number that another write has taken counts as landed, and messages are lost.",
        "return table_writes.given_back if cancelled else table_writes.renumbered",
        "return table_writes.given_back if cancelled else written",
    ),
    Bug(
        "wrong-columns-blame-the-message-of-no-table",
        "Dead letters of a table that is gone tell nothing of why they did not fit.",
        "if why.state is not TableState.SCHEMA_MISMATCH:",
        "if why.state is TableState.SCHEMA_MISMATCH:",
    ),
    Bug(
        "rows-of-a-subscription-that-has-ended",
        "What is published after a subscription was deleted or given another table is written.",
        "subscription = source_again(tables, name, source.uid).subscription",
        "subscription = source.subscription",
    ),
    Bug(
        "earlier-table-that-is-not-asked",
        "What has landed in the earlier table comes into the later one, too.",
        "target = tables.target(table, takes_rows=is_wanted)",
        "target = tables.target(table)",
    ),
    Bug(
        "earlier-table-that-is-waited-for",
        "An earlier table that may not be written any more keeps the later one waiting for ever.",
        "        except Unwritable:\n            if is_wanted:\n                raise\n"
        "        return table_writes.given_back\n    target.append",
        "        except Unwritable:\n            raise\n"
        "        return table_writes.given_back\n    target.append",
    ),
    Bug(
        "pull-fails-by-an-earlier-table",
        "A pull fails after its commit where an earlier table of the subscription is away.",
        "    except Exception as problem:\n        return Finished(count, problem)\n",
        "    except Unwritable as problem:\n        return Finished(count, problem)\n",
    ),
    Bug(
        "given-back-counts-as-written",
        "Messages whose write was cancelled count as written.",
        "elif done is not table_writes.given_back:",
        "else:",
    ),
    Bug(
        "state-of-a-table-hides",
        "A subscription cannot be shown while the storage of its table does not answer.",
        "    except Exception:  # a storage that does not respond must not hide the subscription\n",
        "    except KeyError:  # a storage that does not respond must not hide the subscription\n",
    ),
    Bug(
        "rows-that-cannot-be-read-count-as-written",
        "A message that became unreadable is acknowledged without a row.",
        "    if len(messages) < len(lease.positions):\n        return None\n",
        "",
    ),
    Bug(
        "slice-of-one-read",
        "A slice of a table has eight messages at most.",
        "        left, room = left - reached, room - sum(sizes)\n"
        "        if reached != wanted:\n"
        "            break\n",
        "        left, room = left - reached, room - sum(sizes)\n        break\n",
    ),
    Bug(
        "missing-table-is-a-wrong-argument",
        "A table that does not exist is refused as a wrong argument, and not as NOT_FOUND.",
        "    if state is TableState.NOT_FOUND:\n        raise NotFound",
        "    if state is TableState.SCHEMA_MISMATCH:\n        raise NotFound",
    ),
    Bug(
        "reasons-of-a-table-that-is-away",
        "A dead letter tells that its table is gone as the reason why it did not fit.",
        "        if why.state is not TableState.SCHEMA_MISMATCH:\n            return {}\n",
        "",
    ),
    Bug(
        "a-damaged-earlier-table-is-waited-for",
        "An earlier table whose log is damaged is waited for by every pull.",
        "    except (Unwritable, DataLoss):\n",
        "    except Unwritable:\n",
    ),
    Bug(
        "dead-letters-wait-for-a-damaged-table",
        "The dead letters of a table subscription wait for ever for its table, which is damaged.",
        "    except DataLoss:\n        return {}\n",
        "    except DataLoss:\n        raise\n",
    ),
    Bug(
        "schema-of-a-later-topic",
        "The schema of another topic, of the name of a deleted one, tells what a table is given.",
        "if topic is None or is_later:",
        "if topic is None:",
    ),
    Bug(
        "number-alone-names-a-write",
        "After a RESTORE other messages count as written under a number that comes again.",
        'return f"{source.uid}.{number}.{digest(spans)}"',
        'return f"{source.uid}.{number}"',
    ),
    Bug(
        "reasons-of-the-messages-before",
        "A dead letter says why another message did not fit the table, or nothing.",
        "return {int(messages[place].message_id): why for place, why in unfit.items()}",
        "return {int(messages[0].message_id) + place: why for place, why in unfit.items()}",
    ),
    Bug(
        "write-is-given-back-though-nobody-knows-whether-it-landed",
        "A table that cannot be opened for a moment gets rows twice.",
        "        if is_wanted:\n"
        "            raise\n"
        "        return table_writes.given_back  # nobody",
        "        return table_writes.given_back  # nobody",
    ),
    Bug(
        "write-to-a-table-that-takes-none-any-more-stays-for-ever",
        "A message is written for ever to a table that has other columns by now.",
        "    except Unwritable:\n        return None\n    return None if made",
        "    except DataLoss:\n        return None\n    return None if made",
    ),
    Bug(
        "subscription-is-hidden-by-its-table",
        "No subscription is listed while the table of one does not respond.",
        "    except Exception:  # a storage that does not respond",
        "    except DataLoss:  # a storage that does not respond",
    ),
    Bug(
        "slice-of-more-than-there-is-room-for",
        "A table gets slices that are as many times too large as they take reads.",
        "left, room = left - reached, room - sum(sizes)",
        "left, room = left - reached, room + sum(sizes)",
    ),
)
