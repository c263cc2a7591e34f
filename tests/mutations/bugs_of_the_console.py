"""Bugs of the console, and of what it looks at."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_THE_CONSOLE = (
    Bug(
        "note-comes-back",
        "A page says again that something was done when it is loaded again.",
        "console/flash.py",
        'return self._texts.pop(key, "")',
        'return self._texts.get(key, "")',
    ),
    Bug(
        "stale-form-is-obeyed",
        "A form that was not written for a session is obeyed.",
        "console/forms.py",
        "        raise InvalidCsrfToken(form)\n",
        "        pass\n",
    ),
    Bug(
        "forms-in-read-only",
        "A console that is read-only shows forms for changes.",
        "console/responses.py",
        "    if console_of(request).access.read_only:\n",
        "    if False:\n",
    ),
    Bug(
        "first-error-alone",
        "A form tells one of its errors and not the others.",
        "console/subscription_form.py",
        "        if field in fields:\n",
        "        if field in fields and not form.errors:\n",
    ),
    Bug(
        "deleted-without-the-name",
        "What is deleted goes whatever name was typed.",
        "console/resource_changes.py",
        '    if form.text("name") != id_:\n',
        "    if False:\n",
    ),
    Bug(
        "rate-of-another",
        "The rate of a subscription counts what one of its name has acknowledged before.",
        "console/measurements.py",
        "if every.get(n) == m.uid}",
        "if n in every}",
    ),
    Bug(
        "rest-before-the-page",
        "A list measures what it does not show before what it shows.",
        "console/measurements.py",
        "        for name in self._shown:\n",
        "        for name in ():\n",
    ),
    Bug(
        "letter-to-its-own-topic",
        "A dead letter is published again to the dead-letter topic.",
        "console/message_page.py",
        "topic = own if letter is None else letter.topic",
        "topic = own",
    ),
    Bug(
        "letter-keeps-its-history",
        "A dead letter is published again with the attributes that forwarding added.",
        "console/message_page.py",
        "if not k.startswith(DEAD_LETTER_PREFIX)}",
        "}",
    ),
    Bug(
        "acked-stay-on-the-page",
        "Messages that were acknowledged by hand stay on their page.",
        "console/leased_batches.py",
        "if each.ack_id not in ack_ids)",
        ")",
    ),
    Bug(
        "acknowledged-lane-lies",
        "Messages from before a subscription are drawn as acknowledged.",
        "delivery/surveys.py",
        "bounds = [(subscription.create_time, BEFORE), (kept_from, EXPIRED)]",
        "bounds = [(kept_from, EXPIRED)]",
    ),
    Bug(
        "kept-by-the-topic-is-expired",
        "What the topic's retention covers is drawn as too old.",
        "delivery/surveys.py",
        "kept_from = cutoff if covered is None else min(cutoff, covered)",
        "kept_from = cutoff",
    ),
    Bug(
        "search-goes-on",
        "A search that was stopped goes on.",
        "operations/find.py",
        "            if is_stopped():\n                return\n",
        "",
    ),
    Bug(
        "search-of-overlaps",
        "A search misses the last position of each part.",
        "operations/find.py",
        "(max(low, end - size + 1), end)",
        "(max(low, end - size + 2), end)",
    ),
    Bug(
        "history-without-now",
        "Metrics over time end before what the card beside them says.",
        "operations/survey.py",
        "    moments.append(_moment(subscription_metrics(tables, name, now), now))\n",
        "",
    ),
    Bug(
        "table-lost-by-an-edit",
        "Editing any field of a subscription that writes to a table makes it a pull subscription.",
        "console/subscription_form.py",
        '"push" if push else "table" if table else "pull"',
        '"push" if push else "pull"',
    ),
    Bug(
        "position-axis-with-gaps",
        "Positions that nobody was given take room in the chart.",
        "console/ack_state_chart.py",
        "number = min(self._before[place] + position - self._firsts[place], "
        "self._before[place + 1])",
        "number = position",
    ),
)
