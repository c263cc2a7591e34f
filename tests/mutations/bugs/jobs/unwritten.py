"""Seeded bugs of ``jobs/unwritten.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_job_exit_codes.py",
    "tests/unit/test_cli_streams.py",
    "tests/lanes/test_jobs.py",
)

BUGS = (
    Bug(
        "full-error-stream-changes-the-exit-code",
        "A job whose standard error is full ends with the exit code 120.",
        "in (sys.stdout, sys.stderr)",
        "in (sys.stdout,)",
    ),
    Bug(
        "help-in-another-encoding-is-a-traceback",
        "The help is a traceback where the encoding of standard output lacks one of its letters.",
        "    except UnicodeEncodeError as error:",
        "    except UnicodeDecodeError as error:",
    ),
    Bug(
        "reader-that-has-gone-is-a-full-disk",
        "A job whose output nobody reads any more is told as refused.",
        "    except BrokenPipeError:  # its",
        "    except TimeoutError:  # its",
    ),
)
