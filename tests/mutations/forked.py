"""Tests in a process forked from one that has what all need."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

import tests.model.machine  # noqa: F401 - with it comes what else most tests import

_OF_THE_REPOSITORY = ("pubsub_delta", "tests")
"""Packages that a forked process imports once more, from the copy."""
MOST_SECONDS = 180
"""Of processor time; what takes more is a test that does not end."""
LONGEST_WAIT = 900
"""Seconds, for a test that does not end and waits."""

DOES_NOT_END = "::does_not_end"
"""Follows the name of the first of the tests that were run."""

_OPTIONS = (
    *("-q", "--tb=no", "-rfE", "--timeout=0", "--hypothesis-seed=0", "-p", "no:cacheprovider"),
    *("-p", "tests.mutations.imported", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
_FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.M)
_BROKEN = 91
"""The exit code where pytest itself fails."""
_FAILED = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, _BROKEN)
"""The second where a file of tests could not be imported, the third also where a thread of a test
that has failed is left.
"""


class NotRun(RuntimeError):
    """The tests could not be run, which proves nothing."""


def failing(root: Path, tests: Sequence[str], *, first: bool = True) -> list[str]:
    """Run tests in a copy of the repository; return those that fail, or only the first."""
    arguments = [*_OPTIONS, *(["-x"] if first else []), *tests]
    found = failures(partial(_pytest, root, arguments), tests[0])
    return list(dict.fromkeys(name.split("[")[0] for name in found))


def failures(run: Callable[[], int], first: str, longest_wait: int = LONGEST_WAIT) -> list[str]:
    """Run tests in a forked process, and return the ids that it tells as FAILED.

    ``run`` returns pytest's exit code. If it does not end, the ``first`` test is said not to.
    """
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if not child:
            _run(run, output.fileno(), longest_wait)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the tests have started
        output.seek(0)
        told = output.read()
    if status == pytest.ExitCode.OK:
        return []
    if status < 0:
        return [f"{first}{DOES_NOT_END}"]
    found = _FAILURE.findall(told)
    if status not in _FAILED or not found:
        raise NotRun(f"exit code {status}: {told[-2000:]}")
    return list(found)


def _run(run: Callable[[], int], output: int, longest_wait: int) -> None:
    """Run tests in this process, the forked one; never return."""
    status = _BROKEN
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(longest_wait)
        status = run()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _pytest(root: Path, arguments: list[str]) -> int:
    """Run pytest with the library and the tests of the copy."""
    os.chdir(root)
    for name in [each for each in sys.modules if each.split(".")[0] in _OF_THE_REPOSITORY]:
        del sys.modules[name]
    sys.path.insert(0, str(root))
    return pytest.main(arguments)
