"""Bugs where a server would not answer frameworks that speak Google's protocol themselves."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_FRAMEWORK = (
    Bug(
        "gzip-of-any-size",
        "A body in gzip has no limit but that of the bytes that are sent.",
        "server/rest/connection.py",
        "if max(sent, len(body)) > self._limits.body_size:",
        "if sent > self._limits.body_size:",
    ),
    Bug(
        "gzip-of-nothing-without-end",
        "A body in gzip that holds nothing may be of any size.",
        "server/rest/connection.py",
        "if max(sent, len(body)) > self._limits.body_size:",
        "if len(body) > self._limits.body_size:",
    ),
    Bug(
        "query-of-any-length-in-the-body",
        "A query that comes in the body has no limit but that of bodies.",
        "server/rest/overrides.py",
        "if len(body) > _LONGEST_QUERY:",
        "if len(body) > 1_000 * _LONGEST_QUERY:",
    ),
    Bug(
        "gzip-cut-off",
        "A body in gzip that is cut off is read as if it were whole.",
        "server/rest/connection.py",
        "                encoded.check_end()\n",
        "",
    ),
    Bug(
        "gzip-of-one-member",
        "Of a body in gzip with several members the later ones are lost.",
        "server/rest/encodings.py",
        "data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail",
        "data = self._member.unconsumed_tail",
    ),
    Bug(
        "gzip-by-one-name",
        "A body in x-gzip, which is gzip, is refused.",
        "server/rest/encodings.py",
        'if name in ("gzip", "x-gzip"):',
        'if name in ("gzip",):',
    ),
    Bug(
        "override-unread",
        "A POST that means another method is of no method.",
        "server/rest/overrides.py",
        'if wanted and head.verb == "POST" else head',
        "if False else head",
    ),
    Bug(
        "override-of-any-method",
        "A GET that says it means DELETE deletes.",
        "server/rest/overrides.py",
        'if wanted and head.verb == "POST" else head',
        "if wanted else head",
    ),
    Bug(
        "override-without-its-query",
        "A GET that is sent as a POST, as its query is long, is refused for its body.",
        "server/rest/overrides.py",
        'if head.verb != "GET" or kind != _FORM or _HEADER not in head.headers:',
        "if True:",
    ),
    Bug(
        "first-stream-first",
        "Of streams that have equally many messages the first one is given each.",
        "server/assigner.py",
        "(each.messages, each.turn, next(number), each) for each in consumers",
        "(each.messages, 0, next(number), each) for each in consumers",
    ),
    Bug(
        "unanswered-to-the-same",
        "A message that a stream has not answered is given to it again, with another one idle.",
        "server/assigner.py",
        "delivery.consumer = None\n        consumer.turn = next(self._turns)\n",
        "delivery.consumer = None\n",
    ),
    Bug(
        "failed-at-one-to-the-same",
        "Of many messages that a stream has not answered half are given to it again.",
        "server/leaser.py",
        "            self.assigner.fail(delivery)\n",
        "",
    ),
    Bug(
        "failed-at-the-only-one",
        "A message that the only stream has not answered is given to none.",
        "server/assigner.py",
        "return last_choice[-1] if last_choice is not None else None",
        "return None",
    ),
)
