"""Bugs of commits in object storage, of its keys, and of who may write to it."""

from __future__ import annotations

from tests.mutations.bug import Bug

_TABLES = "tables/lanes/direct/tables.py"
_HANDLES = "tables/lanes/direct/open_tables.py"
_APPENDS = "tables/lanes/direct/appends.py"
_COMMITS = "tables/lanes/direct/commits.py"
_CREDENTIALS = "tables/lanes/direct/credentials.py"
_FAILURES = "tables/lanes/direct/errors.py"

BUGS_OF_STORAGES = (
    Bug(
        "append-is-made-behind-its-own-commit",
        "A publish whose answer was lost is two commits, and what was acknowledged comes again.",
        _COMMITS,
        "max_commit_retries=0 if only_next else None",
        "max_commit_retries=None",
    ),
    Bug(
        "append-that-has-landed-is-an-error",
        "A publish whose answer was lost is told as failed, and its publisher sends it again.",
        _APPENDS,
        "if landed is None:",
        "if landed is None or True:",
    ),
    Bug(
        "table-that-was-created-is-an-error",
        "A topic cannot be created while the storage loses the answers to the creation of tables.",
        _TABLES,
        "except (Conflict, Unavailable, *FAILURES):",
        "except Conflict:",
    ),
    Bug(
        "append-of-another-is-taken-for-the-own",
        "A publish that lost a race, or failed, is told as done.",
        _APPENDS,
        "if each.user_metadata == user_metadata), None)",
        "if each.user_metadata), None)",
    ),
    Bug(
        "storage-that-refuses-voids-acknowledgements",
        "A storage that refuses a request for a moment ends consumers, and voids what they said.",
        "server/dispatcher.py",
        "except (NotFound, Detached) as error:",
        "except (NotFound, Detached.__base__) as error:",
    ),
    Bug(
        "storage-that-refuses-is-told-as-a-fault-of-the-caller",
        "Expired keys of a server end the streams of all clients for good.",
        "server/status.py",
        "if isinstance(error, StorageRefused):",
        "if isinstance(error, InvalidArgument):",
    ),
    Bug(
        "full-disk-refuses-a-job-for-good",
        "A scheduler is told that a later run cannot help, after a disk was full.",
        "jobs/terminal.py",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unknown)",
    ),
    Bug(
        "errors-of-a-query-are-known-in-one-level",
        "A storage that refuses a job's query is an unexpected failure.",
        "jobs/terminal.py",
        "yield from _errors(each)",
        "_errors(each)",
    ),
    Bug(
        "full-disk-ends-a-streaming-pull",
        "A disk that is full for a moment ends the StreamingPull of a program.",
        "subscriber.py",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unknown)",
    ),
    Bug(
        "a-later-version-is-written-over",
        "A state is written over whatever is stored, if the table was opened anew meanwhile.",
        _TABLES,
        "if opened.version() != version:",
        "if opened.version() < version:",
    ),
    Bug(
        "a-swap-is-tried-past-others",
        "A state that was read before somebody else's commit is committed after it.",
        _COMMITS,
        "_ONLY_NEXT = CommitProperties(max_commit_retries=0)",
        "_ONLY_NEXT = CommitProperties()",
    ),
    Bug(
        "a-state-is-of-the-version-before",
        "What is read is taken for the version before it, and no swap ever lands.",
        "tables/ack_state/states.py",
        "version = None if stored.version is None else stored.version + 1",
        "version = stored.version",
    ),
    Bug(
        "a-handle-is-never-opened-again",
        "A table that one process writes for hours becomes slower with each commit.",
        _HANDLES,
        "if self.table is None or self.table.version() - self.opened_at > most:",
        "if self.table is None:",
    ),
    Bug(
        "a-deletion-is-not-counted",
        "A row that was not there is told to be deleted.",
        _TABLES,
        'return int(counts["num_deleted_rows"] or 0)',
        'return counts["num_deleted_rows"] is not None',
    ),
    Bug(
        "keys-of-all-before-those-of-a-bucket",
        "The keys of a bucket are those of all buckets.",
        _CREDENTIALS,
        "    found |= {k.removeprefix(own): v for k, v in given.items() if k.startswith(own)}\n",
        "",
    ),
    Bug(
        "a-key-of-another-account",
        "Of several Azure accounts the key of the last one is taken.",
        _CREDENTIALS,
        'if account and whose not in ("", account):',
        'if account and whose not in ("", account) and not value:',
    ),
    Bug(
        "a-missing-file-is-a-matter-of-keys",
        "A file that is gone is told as a storage that refuses its keys.",
        _FAILURES,
        " or _ABSENT.search(text):",
        ":",
    ),
    Bug(
        "an-outage-is-a-refusal",
        "A put that may have landed is told as one that was refused.",
        _FAILURES,
        "(?:400|401|403|404) [A-Z]",
        "(?:400|401|403|404|503) [A-Z]",
    ),
    Bug(
        "several-drivers-on-s3",
        "Spark's lane writes to S3 with a log store that is safe for one driver only.",
        "tables/lanes/s3_writers.py",
        "if not is_on_s3(location) or runs_on_databricks() or",
        "if is_on_s3(location) or runs_on_databricks() or",
    ),
    Bug(
        "failed-checkpoint-of-a-local-publish",
        "A publish on a local disk whose checkpoint cannot be written is told as failed.",
        _APPENDS,
        "landed = _version_of(tables, table, user_metadata, before)",
        'landed = "://" in table and _version_of(tables, table, user_metadata, before) or None',
    ),
    Bug(
        "deltalake-that-doubles-rows",
        "A deltalake by which two OPTIMIZE at a time double rows joins files.",
        "tables/lanes/direct/maintenance.py",
        "_release_of(deltalake.__version__) >= _DOUBLES_ROWS",
        "_release_of(deltalake.__version__) == _DOUBLES_ROWS",
    ),
    Bug(
        "publish-without-upkeep-is-told-as-failed",
        "A publish after which no files can be joined is told as failed, though it has landed.",
        "tables/lanes/direct/tables.py",
        "with suppress(PubSubError, *FAILURES):",
        "with suppress(*FAILURES):",
    ),
    Bug(
        "optimize-that-lost-a-race",
        "A run of maintain joins no files of a topic where another program was faster.",
        "tables/messages/messages.py",
        "return repeat_on_conflict(lambda: self._lane.compact(self._table), self._table)",
        "return self._lane.compact(self._table)",
    ),
    Bug(
        "publish-that-landed-is-denied",
        "A publish whose storage goes away after its commit is told as not written.",
        "operations/publish.py",
        """        is_received = tables.is_received(uid)
    except Exception:
        return
""",
        """        is_received = tables.is_received(uid)
    except KeyError:
        return
""",
    ),
    Bug(
        "publish-in-doubt-is-told-as-unavailable",
        "A publish that may have landed is told as not written, and sent again.",
        "tables/messages/messages.py",
        """        except Exception as failed:
            raise Unknown(""",
        """        except Exception as failed:
            raise failed
            raise Unknown(""",
    ),
    Bug(
        "publish-is-looked-for-after-conflicts-only",
        "A publish that may have landed is told as not written where its storage is away.",
        "tables/messages/messages.py",
        """            except Exception as error:
                # Also""",
        """            except Conflict as error:
                # Also""",
    ),
    Bug(
        "subscription-in-doubt-is-told-as-not-created",
        "A subscription that could not be taken back is told as not created, and then exists.",
        "operations/administer.py",
        """        except Exception as failed:
            raise Unknown(""",
        """        except Exception as failed:
            raise failed
            raise Unknown(""",
    ),
    Bug(
        "publisher-gives-up-at-once",
        "A storage that is away for a moment fails the messages of a publisher, and pauses keys.",
        "tables/lanes/retries.py",
        "stop=stop_after_delay(total_timeout),",
        "stop=stop_after_attempt(1),",
    ),
    Bug(
        "publisher-ignores-its-total-timeout",
        "A publisher whose storage stays away never tells it.",
        "methods/streams.py",
        "repeat_in_time(partial(commit, batch), most, warn)",
        "repeat_in_time(partial(commit, batch), 3600 * (most + most.resolution), warn)",
    ),
    Bug(
        "publisher-repeats-what-may-be-published",
        "A publisher publishes twice what landed without an answer.",
        "tables/lanes/retries.py",
        "retry=retry_if_exception_type((Aborted, Unavailable)),",
        "retry=retry_if_exception_type(Exception),",
    ),
    Bug(
        "outcome-in-doubt-ends-a-pull",
        "An ack whose answer was lost while others were busy ends `store.subscribe()`.",
        "subscriber.py",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unavailable)",
    ),
    Bug(
        "dataframe-that-landed-is-an-error",
        "A DataFrame whose answer was lost is told as failed, and published again.",
        "tables/messages/messages.py",
        """            if not self._has_landed(publish_id, first, error):
                raise
            return True
""",
        """            raise
""",
        needs_spark=("tests/delta/test_concurrency.py",),
    ),
    Bug(
        "busy-storage-is-no-error-of-ours",
        "A storage that is busy, or resets connections, ends consumers by an OSError.",
        _FAILURES,
        "refused(table, error) or unavailable(table, error) or translate_error_of(table, error)",
        "refused(table, error) or translate_error_of(table, error)",
    ),
    Bug(
        "any-answer-is-a-storage-that-is-busy",
        "An object store without conditional puts is told as one that is busy, and asked for ever.",
        _FAILURES,
        "if answer[1] not in _TEMPORARY_ANSWERS:",
        "if False:",
    ),
    Bug(
        "storage-that-is-away-is-an-error-of-spark",
        "A storage that is away for a moment ends consumers of the Spark lane.",
        "tables/lanes/spark/errors.py",
        "if table is not None and not of_others and away is not None:",
        "if False and away is not None:",
        needs_spark=("tests/spark_lane/test_storage_away.py",),
    ),
    Bug(
        "storage-that-is-away-keeps-no-versions",
        "A version that cannot be asked for at the moment is told as gone for good.",
        "tables/lanes/direct/open_tables.py",
        "raise away or FailedPrecondition(",
        "raise FailedPrecondition(",
    ),
)
