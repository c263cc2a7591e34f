"""Bugs of what other programs do to tables, and of clocks that are set while a server runs."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_OTHER_PROGRAMS = (
    Bug(
        "features-of-a-target-are-not-looked-at",
        "A table subscription is given a table by whose features every commit fails.",
        "tables/lanes/direct/targets.py",
        "        found += sorted({*(self._table.protocol().writer_features or ())} - _WRITTEN)\n",
        "",
    ),
    Bug(
        "what-deltalake-does-not-write-is-raised",
        "An earlier table that deltalake does not write is waited for by every pull.",
        "tables/lanes/direct/targets.py",
        "        if isinstance(error, FailedPrecondition):\n            why",
        "        if isinstance(error, TableNotFoundError):\n            why",
    ),
    Bug(
        "a-damaged-earlier-table-is-waited-for",
        "An earlier table whose log is damaged is waited for by every pull.",
        "delivery/table_writes.py",
        "    except (Unwritable, DataLoss):\n",
        "    except Unwritable:\n",
    ),
    Bug(
        "features-end-in-deltalakes-error",
        "A table with a feature that deltalake does not write ends in an error of deltalake's.",
        "tables/lanes/direct/errors.py",
        "    of_features = isinstance(error, DeltaError) and _FEATURES.search(text)\n",
        "    of_features = False\n",
    ),
    Bug(
        "a-clock-that-is-set-back-stops-polls",
        "A server whose clock is set back finds nothing of others until it is as late again.",
        "server/dispatcher.py",
        "        return self._poll_now or not 0 < left <= self._timing.longest_poll\n",
        "        return self._poll_now or left <= 0\n",
    ),
    Bug(
        "a-pause-by-as-much-as-the-clock-was-set-back",
        "An endpoint gets no pushes for an hour after a failure, if the clock was set back.",
        "policy/push_window.py",
        "sent <= self.halved_at <= now:",
        "sent <= self.halved_at:",
    ),
    Bug(
        "an-unsent-confirmation-counts-as-told",
        "An ack fails when it is repeated, though its stream ended before it was confirmed.",
        "server/streams.py",
        "            self._queue.confirm(field, named)\n",
        '            self._dispatcher.leaser.forget_confirmed(named["ack_ids"])\n'
        "            self._queue.confirm(field, named)\n",
    ),
    Bug(
        "acks-during-a-seek-are-lost-at-the-end",
        "A server that ends during a seek loses the acks that came meanwhile.",
        "server/dispatcher.py",
        "        async with self._exchanging:  # what a seek",
        "        async with asyncio.Lock():  # what a seek",
    ),
    Bug(
        "what-was-never-read-stays-leased",
        "Messages that a server cannot read stay leased for ever, without any consumer.",
        "server/dispatcher.py",
        "        if not self.leaser.waiting:\n            self._waits_since",
        "        if not self.leaser.assigner.waiting:\n            self._waits_since",
    ),
    Bug(
        "pauses-of-a-failing-storage-begin-anew",
        "A server asks a storage that fails for hours many times a second, and logs each failure.",
        "server/dispatcher.py",
        "self._timing.pause(self._failures))",
        "self._timing.pause(self._failures % _FAILURES))",
    ),
    Bug(
        "pauses-of-a-failing-storage-grow-for-ever",
        "A server goes on minutes after its storage, which had failed for hours.",
        "server/timing.py",
        "        return min(failures * self.gather, LONGEST_PAUSE)\n",
        "        return failures * self.gather\n",
    ),
    Bug(
        "dead-letters-wait-for-a-damaged-table",
        "The dead letters of a table subscription wait for ever for its table, which is damaged.",
        "delivery/table_writes.py",
        "    except DataLoss:\n        return {}\n",
        "    except DataLoss:\n        raise\n",
    ),
    Bug(
        "a-damaged-dead-letter-topic-stops-its-source",
        "Every pull fails of a subscription whose dead-letter topic is damaged.",
        "delivery/dead_letters.py",
        "    except DataLoss as error:\n        return _cannot_be_written(error)\n",
        "    except DataLoss:\n        raise\n",
    ),
    Bug(
        "handshake-in-vain-keeps-its-connection",
        "A connection whose handshake takes too long stays open.",
        "server/push_endpoint.py",
        "        except BaseException:  # httpcore keeps",
        "        except OSError:  # httpcore keeps",
    ),
    Bug(
        "what-a-table-forbids-ends-in-deltalakes-error",
        "A table that another program has made append-only ends in an error of deltalake's.",
        "tables/lanes/direct/errors.py",
        "    if isinstance(error, DeltaError) and _FORBIDDEN.search(text):\n",
        "    if isinstance(error, OSError) and _FORBIDDEN.search(text):\n",
    ),
    Bug(
        "what-a-table-forbids-ends-in-sparks-error",
        "A table that another program has made append-only ends in an error of Spark's.",
        "tables/lanes/spark/errors.py",
        "        if table is not None and rule is not None:\n",
        "        if table is None and rule is not None:\n",
        needs_spark=(
            "tests/spark_lane/test_tables.py::test_what_a_table_is_made_to_forbid_is_refused_by_name",
        ),
    ),
    Bug(
        "taken-back-publish-told-as-done",
        "A publish that a RESTORE has taken back is told as done when it is repeated.",
        "operations/publish.py",
        "    if commit is not None and _is_taken_back(messages, commit):",
        "    if not application:",
    ),
)
