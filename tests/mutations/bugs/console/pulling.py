"""Seeded bugs of ``console/pulling.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_leased_batches.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_mistakes.py",
)

BUGS = (
    Bug(
        "pull-of-a-hundred-by-hand",
        "A page cannot pull a hundred messages.",
        "if not 1 <= number <= MOST_PULLED:",
        "if not 1 <= number < MOST_PULLED:",
    ),
    Bug(
        "ids-of-another-batch",
        "A form acknowledges messages that the batch of its page does not have.",
        '[each for each in form.multi.get("ack_id", []) if each in known]',
        'form.multi.get("ack_id", [])',
    ),
    Bug(
        "extended-messages-vanish",
        "Messages whose lease is extended in the console are no longer on their page.",
        "left = replace(kept, until=until if",
        "left = replace(left, until=until if",
    ),
    Bug(
        "a-failed-extension-moves-the-end",
        "A page of pulled messages shows a new deadline though no lease was extended.",
        'left = replace(kept, until=until if counts["success"] else kept.until)',
        "left = replace(kept, until=until)",
    ),
    Bug(
        "two-pages-of-a-batch",
        "An ack on an old page of a batch brings back messages that another page has acknowledged.",
        "console.leased_batches.find(batch_id, id_) or held",
        "held",
    ),
    Bug(
        "late-answers-counted-as-done",
        "A page counts the messages whose lease was over among those that it acknowledged.",
        """parts = [f"{counts['success']:,} {""",
        """parts = [f"{sum(counts.values()):,} {""",
    ),
    Bug(
        "kept-longer-is-a-minute-from-now",
        "Keeping messages longer in the console cuts a longer lease short.",
        "longest = min(is_left + EXTENSION, MAX_ACK_DEADLINE_SECONDS)",
        "longest = EXTENSION",
    ),
    Bug(
        "leased-for-no-page",
        "What a page of the console cannot show stays leased, and fails.",
        """            batch.give_back()
            raise""",
        "            raise",
    ),
    Bug(
        "lease-from-the-look",
        "The countdown of leases that were kept longer begins when the page is looked at.",
        "until=until if counts",
        "until=console.at_present() + timedelta(seconds=longest) if counts",
    ),
    Bug(
        "acks-that-failed-are-told-as-done",
        "Who acknowledges by the console is not told that it failed.",
        "        return redirect_with_problem(asked, str(error), *at)\n\n    return run_job",
        '        return redirect_with_flash(asked, "Done.", *at)\n\n    return run_job',
    ),
)
