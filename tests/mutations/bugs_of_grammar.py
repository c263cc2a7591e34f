"""Bugs of filters, formats, times and listings of the command line."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_GRAMMAR = (
    Bug(
        "a-star-is-passed-over",
        "name:my* finds what stands in the middle of a name, too.",
        "cli/grammar/matching.py",
        "f\"{'^' * bool(before)}{before}.*",
        'f"{before}.*',
    ),
    Bug(
        "absent-is-not-different",
        "labels.env!=prod is false of what has no such label.",
        "cli/grammar/matching.py",
        'return lambda value: matches(value) != (operator == "!=")',
        'return lambda value: value is not None and matches(value) != (operator == "!=")',
    ),
    Bug(
        "numbers-are-compared-as-texts",
        "ackDeadlineSeconds<60 is true of 100.",
        "cli/grammar/matching.py",
        "if number is not None and (mine := number_of(value)) is not None:",
        "if number is None and (mine := number_of(value)) is not None:",
    ),
    Bug(
        "side-by-side-is-or",
        "Of terms that stand side by side one is enough.",
        "cli/grammar/filters.py",
        "return _all([self.test(each) for each in tree.children])\n\n    def _disjunction",
        "return lambda r: any(self.test(e)(r) for e in tree.children)\n\n    def _disjunction",
    ),
    Bug(
        "and-and-or-are-mixed",
        "AND and OR stand at one level, and who reads them differently is not told.",
        "cli/grammar/filters.py",
        "if either and any(len(each.children) > 1 for each in inner):",
        "if either and any(len(each.children) > 9 for each in inner):",
    ),
    Bug(
        "limit-goes-before-order",
        "A limit takes the first of the store, and not of what is sorted.",
        "cli/grammar/selection.py",
        "found = in_order(found, sort_keys(",
        "found = in_order(found[: selection.limit], sort_keys(",
    ),
    Bug(
        "filter-sees-the-first-pages-only",
        "With a limit a filter sees no more than so many.",
        "cli/listing.py",
        "most = None if app.selection.needs_all else limit",
        "most = limit",
    ),
    Bug(
        "scope-takes-what-is-before",
        "name.scope(topics) is what stands before the topic's id.",
        "cli/grammar/transforms.py",
        'return text.split(f"/{name}/")[-1]',
        'return text.split(f"/{name}/")[0]',
    ),
    Bug(
        "get-transforms",
        "get() shows values with their transforms.",
        "cli/printing.py",
        'bare = form.kind == "get" and',
        'bare = form.kind == "set" and',
    ),
    Bug(
        "usual-transforms-are-lost",
        "value(message.data) shows base64, and not what the usual table shows.",
        "cli/formats.py",
        "merged = new if known is None else _merged(known, new)",
        "merged = new",
    ),
    Bug(
        "cells-steer-a-terminal",
        "Control characters of a cell reach the terminal.",
        "cli/tables.py",
        'return "\\n".join(map(printable, _lines(text)))',
        'return "\\n".join(_lines(text))',
    ),
    Bug(
        "a-date-is-midnight-in-utc",
        "A time without a zone is taken for one in UTC.",
        "cli/times.py",
        "return in_zone(found, zone) if found.tzinfo is None else found",
        "return found.replace(tzinfo=UTC) if found.tzinfo is None else found",
    ),
    Bug(
        "a-local-time-is-cut",
        "A local time that is finer than a microsecond is the one before it.",
        "cli/times.py",
        "found += timedelta(microseconds=1)",
        "found += timedelta(microseconds=0)",
    ),
    Bug(
        "a-day-is-24-hours",
        "A day ago is 24 hours ago on the day when clocks go forward, too.",
        "cli/times.py",
        "at = in_zone(wall, zone).astimezone(UTC) if on_calendar else now",
        "at = now + sign * timedelta(days=days) if on_calendar else now",
    ),
    Bug(
        "an-accident-is-a-time",
        "A seek to 10 goes to the tenth of this month.",
        "cli/times.py",
        "if _GUESSWORK.fullmatch(text):",
        "if not text:",
    ),
    Bug(
        "a-superscript-is-a-width",
        "A width that is a superscript, or has thousands of digits, ends in a stack trace.",
        "cli/grammar/syntax.py",
        'if re.fullmatch("[0-9]{1,6}", text) else None',
        "if text.isdigit() else None",
    ),
)
