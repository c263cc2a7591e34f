"""Bugs of a reading of what is promised to consumers, as the code had them or nearly."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_PROMISES_OF_CONSUMERS = (
    Bug(
        "kept-longer-is-a-minute-from-now",
        "Keeping messages longer in the console cuts a longer lease short.",
        "console/pulling.py",
        "longest = min(is_left + EXTENSION, MAX_ACK_DEADLINE_SECONDS)",
        "longest = EXTENSION",
    ),
    Bug(
        "labels-that-no-line-holds-dropped",
        "An edit of a label in the console drops those that its lines cannot hold.",
        "console/forms.py",
        "return {**kept, **edited}",
        "return dict(edited)",
    ),
    Bug(
        "a-label-of-two-lines-hinders-edits",
        "No field of a resource can be edited in the console that has a label of two lines.",
        "console/forms.py",
        "and NOT_IN_LINES.isdisjoint(key + value)",
        "and NOT_IN_LINES.isdisjoint(key)",
    ),
    Bug(
        "snapshots-of-any-deleted-topic",
        "A snapshot is offered to subscriptions of other topics.",
        "operations/snapshot.py",
        "if uid == found[1] and not each.detached)",
        "if not each.detached)",
    ),
    Bug(
        "no-seekers-after-their-topic",
        "The console offers the subscriptions of a deleted topic none of its snapshots.",
        "operations/snapshot.py",
        "if found is None or found.subscription.detached:",
        "if found is None or tables.registry.topic_of_uid(found.topic_uid) is None:",
    ),
    Bug(
        "no-more-than-a-week-in-the-menu",
        "The console offers no retention of more than a week.",
        "console/subscription_edit.py",
        "longest_days=MAX_SUBSCRIPTION_RETENTION.days",
        "longest_days=7",
    ),
    Bug(
        "a-file-not-acknowledged-is-a-failure",
        "What pull --output brings into a file has failed where it is not acknowledged.",
        "cli/pull.py",
        "self.held[0].give_back()",
        "self.held[0].modify_ack_deadline(0)",
    ),
    Bug(
        "what-is-not-printed-has-failed",
        "What a pull has not printed when it is ended counts as a failed delivery.",
        "cli/pull.py",
        "self.held.pop().give_back()",
        "self.held.pop().modify_ack_deadline(0)",
    ),
    Bug(
        "given-back-by-its-name-alone",
        "A batch of a deleted subscription gives back messages of a later one of its name.",
        "operations/acknowledge.py",
        """    if found.uid != targets.subscription_uid:  # that subscription was deleted meanwhile
        return
""",
        "",
    ),
    Bug(
        "leased-for-no-page",
        "What a page of the console cannot show stays leased, and fails.",
        "console/pulling.py",
        """            batch.give_back()
            raise""",
        "            raise",
    ),
)
