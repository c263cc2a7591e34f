"""Bugs of calls that signals end, of streams and disks that fail, and of what is pickled."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_INTERRUPTS = (
    Bug(
        "interrupted-snapshot-keeps-its-name",
        "Ctrl-C while a snapshot is created leaves its announcement.",
        "operations/snapshot.py",
        "except (Exception, KeyboardInterrupt, SystemExit):",
        "except Exception:",
    ),
    Bug(
        "interrupted-dead-letter-policy-stays",
        "Ctrl-C while a dead-letter topic is given leaves it unprotected.",
        "operations/administer.py",
        "except (Exception, KeyboardInterrupt, SystemExit):",
        "except Exception:",
    ),
    Bug(
        "announcement-outside-of-what-is-undone",
        "An announcement that landed, and whose call failed then, stays.",
        "operations/snapshot.py",
        "tables.registry.remove_snapshot(snapshot.uid)\n            raise",
        "if is_announced:\n"
        "                    tables.registry.remove_snapshot(snapshot.uid)\n"
        "            raise",
    ),
    Bug(
        "store-is-pickled-without-a-word",
        "A store that is sent to another process ends in an error about a lock.",
        "client.py",
        "    __reduce__ = refuse_to_pickle\n\n",
        "",
    ),
    Bug(
        "closed-output-is-noticed-late",
        "A command without standard output is carried out, and told as failed.",
        "cli/standard_streams.py",
        "if sys.stdout is None:",
        "if sys.stdout is None and sys.stdin is None:",
    ),
    Bug(
        "closed-stream-gets-a-table",
        "What is written to a closed standard error is written into a table.",
        "cli/commands.py",
        "            open_closed_streams()\n",
        "",
    ),
    Bug(
        "closed-error-stream-gets-a-table",
        "As above, where standard error alone is closed.",
        "cli/standard_streams.py",
        "in range(3):",
        "in range(2):",
    ),
    Bug(
        "full-log-ends-a-job",
        "A job ends where the disk of its log is full.",
        "jobs/terminal.py",
        "        with suppress(OSError):\n            super()",
        "        with suppress(KeyError):\n            super()",
    ),
    Bug(
        "failed-job-leaves-its-query",
        "A job that fails does not stop its query, whose messages stay leased.",
        "jobs/terminal.py",
        "    finally:\n        query.stop()",
        "    finally:\n        pass",
    ),
    Bug(
        "full-log-fails-what-was-done",
        "A command that cannot print its status is told as failed, and is repeated.",
        "cli/application.py",
        "with suppress(OSError):  # where",
        "with suppress(KeyError):  # where",
    ),
    Bug(
        "hangup-kills-a-server",
        "A server whose terminal ends is killed with what it has not written.",
        "server/serve.py",
        "elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:",
        "elif False:",
    ),
    Bug(
        "nohup-does-not-keep-a-server",
        "A server under nohup ends with its terminal.",
        "server/serve.py",
        "elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:",
        "elif True:",
    ),
    Bug(
        "hangup-keeps-what-a-pull-has-leased",
        "What a pull has leased waits for ten minutes when its terminal ends.",
        "cli/pull.py",
        'for each in ("SIGTERM", "SIGHUP") if',
        'for each in ("SIGTERM",) if',
    ),
    Bug(
        "sigterm-keeps-what-a-pull-has-leased",
        "As above, for each pull that does not follow, and SIGTERM.",
        "cli/pull.py",
        "    with _interrupted_by_signals():\n",
        "    if True:\n",
    ),
    Bug(
        "no-free-files-ends-consumers",
        "A process that may open no more files for a moment ends its consumers.",
        "tables/lanes/storage_errors.py",
        "    if why_now is not None:",
        "    if failing is None and why_now is not None:",
    ),
    Bug(
        "file-too-large-is-unexpected",
        "A file that is too large for its disk is an error of no documented class.",
        "tables/lanes/storage_errors.py",
        "|File too large",
        "",
    ),
    Bug(
        "connection-is-taken-for-a-disk",
        "A storage that cannot be reached is told as a disk that fails.",
        "tables/lanes/storage_errors.py",
        """    if "://" in text:
        return None  # of a connection to object storage
""",
        "",
    ),
    Bug(
        "summary-is-tried-after-the-work",
        "A summary that cannot be written fails a job that has done its work.",
        "jobs/terminal.py",
        "            callback=check_summary,\n",
        "",
    ),
    Bug(
        "tried-summary-stays",
        "A job that fails leaves an empty summary, or takes away that of an earlier run.",
        "jobs/terminal.py",
        "        if is_new:",
        "        if not is_new:",
    ),
    Bug(
        "full-disk-fails-what-a-job-has-done",
        "A disk that fills while a job works fails what it has done.",
        "jobs/terminal.py",
        "    except OSError as error:\n        _print_line(",
        "    except KeyError as error:\n        _print_line(",
    ),
    Bug(
        "batch-of-another-subscription-is-damaged",
        "Who reads a batch of a subscription that was created anew is told of damage.",
        "delivery/leases.py",
        "current = source(tables, name, lease.source.uid)",
        "current = source(tables, name)",
    ),
    Bug(
        "old-batch-is-damaged",
        "Who reads a batch whose messages were too old is told of damage.",
        "delivery/leases.py",
        "state = replay.catch_up(stored, current.terms, current.log(stored), now)",
        "state = stored",
    ),
    Bug(
        "damage-is-taken-for-a-lease-that-is-over",
        "Messages that are lost are told as deleted by retention.",
        "delivery/leases.py",
        "if gone := wanted - held:",
        "if gone := lease.positions - held:",
    ),
    Bug(
        "arrow-of-an-ended-lease-is-damaged",
        "As the first one, for Arrow tables alone.",
        "batches.py",
        "        return self._lease.arrow(partial(self._check_held, self._lease))",
        "        return self._lease.arrow(lambda _: None)",
    ),
    Bug(
        "full-disk-is-unexpected",
        "A disk that is full is told as an unexpected failure of the program.",
        "cli/application.py",
        "        with writing_stdout():\n            click.echo(shown,",
        "        with nullcontext():\n            click.echo(shown,",
    ),
)
