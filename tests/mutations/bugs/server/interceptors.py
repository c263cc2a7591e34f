"""Seeded bugs of ``server/interceptors.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_access.py",
    "tests/unit/test_server_access_changes.py",
    "tests/unit/test_server_memory.py",
    "tests/unit/test_server_counters.py",
)

BUGS = (
    Bug(
        "policy-never-asked",
        "Every caller with a token may do everything by unary calls.",
        "        await access.check(method, request, context)\n",
        "",
    ),
    Bug(
        "failed-streams-stay-open",
        "Streams that fail count as open for ever.",
        "                    yield response\n"
        "        finally:\n"
        "            counters.open_streams -= 1\n",
        "                    yield response\n"
        "            counters.open_streams -= 1\n"
        "        finally:\n"
        "            pass\n",
    ),
    Bug(
        "cancelled-streams-are-not-counted",
        "A stream that its client cancels is in no count of requests.",
        '        counters.requests[name, "CANCELLED"] += 1\n        raise\n',
        "        raise\n",
    ),
    Bug(
        "policies-forgotten-after-success-only",
        "Cached policies are kept after a call that failed, though it may have written.",
        "            return await work(request, context)\n"
        "        except DeadLetterTopicInUse as error:\n"
        "            raise await access.named_to(context, error) from None\n"
        "        finally:  # a call that failed may have written\n"
        "            access.done(method)",
        "            response = await work(request, context)\n"
        "        except DeadLetterTopicInUse as error:\n"
        "            raise await access.named_to(context, error) from None\n"
        "        access.done(method)\n"
        "        return response",
    ),
)
