"""Seeded bugs of ``console/searches.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_searches.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "one-search-less-is-kept",
        "The console keeps one finished search less than it has room for.",
        "if len(self._searches) <= KEPT:",
        "if len(self._searches) < KEPT:",
    ),
    Bug(
        "a-failed-search-found-nothing",
        "A search that failed unexpectedly looks like one that found no message.",
        "except Exception as error:  # else it would look like a search that found nothing",
        "except ValueError as error:",
    ),
    Bug(
        "watched-search-stops",
        "A search stops after a minute though its page is open.",
        "        self._last_request = self._at_present()\n        assert",
        "        assert",
    ),
    Bug(
        "exactly-a-page-has-more",
        "A search that finds exactly a page of messages leads to an empty next page.",
        "                if len(self.found) == PAGE:\n"
        "                    self.has_more = True\n"
        "                    return\n"
        "                self.found.append(message)\n",
        "                self.found.append(message)\n"
        "                if len(self.found) == PAGE:\n"
        "                    self.has_more = True\n"
        "                    return\n",
    ),
    Bug(
        "problem-of-a-search-lost",
        "A search that failed looks like one that found nothing.",
        "            self.problem = error\n",
        "            self._stop.set()\n",
    ),
    Bug(
        "running-searches-are-dropped",
        "Searches that still run are dropped for newer ones.",
        "for id_, each in self._searches.items() if each.is_done]:",
        "for id_, each in self._searches.items() if each is not running]:",
    ),
)
