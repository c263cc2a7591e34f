"""Seeded bugs of ``server/rest/gateway.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_rest_answers.py",
    "tests/unit/test_push_keys.py",
    "tests/unit/test_server_rest.py",
    "tests/unit/test_rest_frameworks.py",
    "tests/unit/test_server_otel.py",
    "tests/unit/test_server_loops.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "body-read-without-token",
        "The token is looked at after the body was read.",
        "            if self._tokens is not None:\n",
        "            if False:\n",
    ),
    Bug(
        "web-page-may-publish",
        "A web page that is open on this machine may publish and pull.",
        'if "origin" in headers or site not in ("none", "same-origin"):',
        "if False:",
    ),
    Bug(
        "any-name-is-this-machine",
        "A name that somebody else's DNS points to this machine is taken for its own.",
        "if local_names_only and host and not _is_this_machine(host):",
        "if False:",
    ),
    Bug(
        "any-content-is-json",
        "A body of another type, as forms of web pages send, is read as JSON.",
        'if body.strip() and kind.partition(";")[0].strip().lower() != "application/json":',
        "if False:",
    ),
    Bug(
        "error-without-details",
        "The details of an error, such as the ack ids that failed, do not reach clients of REST.",
        "if details is not None:",
        "if details is None:",
    ),
    Bug(
        "timeout-of-an-hour",
        "An X-Server-Timeout of 3600 seconds is refused.",
        "if not 0 < seconds <= _LONGEST_WAIT:",
        "if not 0 < seconds < _LONGEST_WAIT:",
    ),
    Bug(
        "pages-of-the-same-site",
        "Web pages of a sibling domain reach a server without a token.",
        'if "origin" in headers or site not in ("none", "same-origin"):',
        'if "origin" in headers or site not in ("none", "same-origin", "same-site"):',
    ),
    Bug(
        "patience-unbounded",
        "X-Server-Timeout: nan is accepted.",
        "    if not 0 < seconds <= _LONGEST_WAIT:\n",
        "    if seconds <= 0 or seconds > _LONGEST_WAIT:\n",
    ),
    Bug(
        "trace-state-is-not-passed-on",
        "The header tracestate of a REST request is dropped.",
        '"traceparent", "tracestate", "x-goog',
        '"traceparent", "x-goog',
    ),
    Bug(
        "unreadable-keys-are-not-found",
        "Receivers are told that there are no keys, while the file cannot be read.",
        "        except PubSubError as error:\n"
        "            return error_response(error)\n"
        "        return error_response(_no_method(head)) if found",
        "        except PubSubError:\n"
        "            return error_response(_no_method(head))\n"
        "        return error_response(_no_method(head)) if found",
    ),
    Bug(
        "unexpected-error-has-no-reply",
        "A client of REST gets no reply after an error that nobody expected.",
        '        except Exception as error:\n            logger.error("%s %s failed',
        '        except OSError as error:\n            logger.error("%s %s failed',
    ),
)
