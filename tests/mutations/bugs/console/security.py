"""Seeded bugs of ``console/security.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_security.py",
    "tests/unit/test_console_sessions.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "origin-that-is-no-url",
        "The console takes a request whose origin is no URL for one of its own.",
        "    except ValueError:  # it is no URL\n        return True\n",
        "    except ValueError:\n        return False\n",
    ),
    Bug(
        "one-cookie-for-all-ports",
        "Two consoles on one host end each other's sessions.",
        'return COOKIE if port is None else f"{COOKIE}_{port}"',
        "return COOKIE",
    ),
    Bug(
        "sign-out-ends-the-cookie-alone",
        "A copy of a session cookie outlives the sign-out.",
        "            self._ended[session.id] = session.until\n",
        "",
    ),
    Bug(
        "ended-sessions-return",
        "Sessions that have ended are forgotten where there are many, and their cookies are valid.",
        "self._key, self._ended = _new_key(), {}",
        "self._ended = {}",
    ),
    Bug(
        "an-ended-session-is-valid-again",
        "A copied cookie of a session that has ended is valid once another one ends.",
        "for id_, until in self._ended.items() if now < until}",
        "for id_, until in self._ended.items() if until < now}",
    ),
    Bug(
        "a-short-token-is-accepted",
        "A short token of the console is accepted if it can be printed.",
        "if self.token is not None and (len(self.token) < 16 or not self.token.isprintable()):",
        "if self.token is not None and (len(self.token) < 16 and not self.token.isprintable()):",
    ),
    Bug(
        "token-of-sixteen-characters",
        "A token of exactly 16 characters is refused.",
        "len(self.token) < 16",
        "len(self.token) <= 16",
    ),
)
