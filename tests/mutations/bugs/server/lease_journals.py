"""Seeded bugs of ``server/lease_journals.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_rare_server_moments.py",
    "tests/unit/test_server_lease_journals.py",
    "tests/unit/test_server_memory.py",
)

BUGS = (
    Bug(
        "living-server-taken-over",
        "What a server leased that lives, or is only stopped, is given to others.",
        "    except (OSError, Timeout):\n        return None\n    return lock",
        "    except (OSError, Timeout):\n        return lock\n    return lock",
    ),
    Bug(
        "server-of-another-machine-taken-over",
        "The lock of another machine is judged.",
        "if each.name.startswith(alike)",
        "if each.name",
    ),
    Bug(
        "given-messages-taken-over",
        "What clients were given is given to others at once when their server is gone.",
        'held | named if what == "leased" else held - named',
        'held | named if what == "leased" else held',
    ),
    Bug(
        "torn-journal-believed",
        "A journal that ends within a line is read, and what was given last is given again.",
        'if not text.endswith("\\n"):',
        "if not text:",
    ),
    Bug(
        "journals-go-whatever",
        "The journals of a dead server go though taking over failed.",
        "            for own, _ in gone:\n"
        "                shutil.rmtree(own, ignore_errors=True)\n"
        "        finally:\n"
        "            for own, lock in gone:\n",
        "        finally:\n"
        "            for own, lock in gone:\n"
        "                shutil.rmtree(own, ignore_errors=True)\n",
    ),
    Bug(
        "journal-of-nobody",
        "Without a journal on disk a server keeps the positions of all that it has leased.",
        "        if self._path is None:\n"
        "            return\n"
        "        self._waiting[lease_id] = positions\n",
        "        self._waiting[lease_id] = positions\n",
    ),
    Bug(
        "locks-of-the-dead-stay",
        "The lock files of servers that were killed are never deleted.",
        "            for own, lock in gone:\n                _forget(own, lock)",
        "            for _, lock in gone:\n                lock.release()",
    ),
    Bug(
        "journal-left-after-a-failure",
        "A journal that could not be written frees messages that consumers were given since.",
        "            with suppress(OSError):\n                self._path.unlink()\n",
        "",
    ),
    Bug(
        "given-of-one-lease",
        "Of messages of several leases that are given at once only one lease is noted.",
        'self._write("".join(lines))',
        'self._write(lines[-1] if lines else "")',
    ),
    Bug(
        "journal-without-its-lock",
        "A server that could not take its lock keeps journals all the same.",
        'when this one is gone: %s", error)\n            self._own = None',
        'when this one is gone: %s", error)',
    ),
    Bug(
        "a-long-journal-written-anew-for-ever",
        "A journal that was long once is written anew for each delivery.",
        """        self._size = 0
        self._file = new""",
        "        self._file = new",
    ),
    Bug(
        "traceback-of-an-orderly-end",
        "A server that ends in order while another looks for it is told as a failure.",
        "own.iterdir() if own.exists() else ()",
        "own.iterdir()",
    ),
    Bug(
        "journal-that-is-being-begun-counts",
        "What a killed server wrote to a new file is taken over beside the old one.",
        "        if _UID.fullmatch(path.name):",
        "        if _UID.match(path.name):",
    ),
    Bug(
        "journal-goes-on-after-a-part-of-a-line",
        "A full disk breaks a line, and the next one ends it.",
        "        if file.write(written) != len(written):",
        "        if not file.write(written):",
    ),
    Bug(
        "a-journal-fails-without-a-word",
        "Nobody is told that the journal of leases cannot be written.",
        'logger.warning(\n                "%s: the journal',
        'logger.debug(\n                "%s: the journal',
    ),
)
