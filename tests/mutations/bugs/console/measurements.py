"""Seeded bugs of ``console/measurements.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_lists.py",
    "tests/unit/test_started_threads.py",
    "tests/unit/test_console_mistakes.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "pages-wait-for-a-thread-that-never-ran",
        "A console that could not start its thread once measures nothing any more.",
        "                thread.start()\n                self._thread = thread\n",
        "                self._thread = thread\n                thread.start()\n",
    ),
    Bug(
        "rate-of-another",
        "The rate of a subscription counts what one of its name has acknowledged before.",
        "if every.get(n) == m.uid}",
        "if n in every}",
    ),
    Bug(
        "rest-before-the-page",
        "A list measures what it does not show before what it shows.",
        "        for name in self._names:\n",
        "        for name in ():\n",
    ),
    Bug(
        "a-rate-since-zero",
        "The rate of a count after an error is all of the count in a second or so.",
        "if before is not None and before.value is not None:",
        "if before is not None:",
    ),
    Bug(
        "one-measurement-is-enough",
        "A list of the console does not wait for all resources that it shows.",
        "return all(n in self._by_name and self._by_name[n].at + MAX_AGE >= now for n in names)",
        "return any(n in self._by_name and self._by_name[n].at + MAX_AGE >= now for n in names)",
    ),
    Bug(
        "measures-once",
        "The console measures nothing more after it has measured everything once.",
        "                if name is None:\n"
        "                    self._thread = None\n"
        "                    return\n",
        "                if name is None:\n                    return\n",
    ),
    Bug(
        "measured-under-a-new-uid",
        "The figures of a deleted topic are shown for one that was created under its "
        "name meanwhile.",
        "                if self._every.get(name) == uid:\n"
        "                    self._by_name[name] = found\n",
        "                self._by_name[name] = found\n",
    ),
    Bug(
        "measured-at-this-very-moment",
        "A page of the console waits for measurements that it has.",
        "self._by_name[n].at + MAX_AGE >= now",
        "self._by_name[n].at >= now",
    ),
)
