"""Bugs of calls that end by Ctrl-C, of closed and full streams, and of what is pickled."""

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
        "threads.py",
        "    def __reduce__(self) -> NoReturn:",
        "    def reduce(self) -> NoReturn:",
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
        "full-disk-is-unexpected",
        "A disk that is full is told as an unexpected failure of the program.",
        "cli/application.py",
        "        with writing_stdout():\n            click.echo(shown,",
        "        with nullcontext():\n            click.echo(shown,",
    ),
)
