"""Seeded bugs of ``operations/administer.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_changes_in_doubt.py",
    "tests/lanes/test_shown_subscriptions.py",
    "tests/protocol/test_outages.py",
    "tests/lanes/test_table_writes.py",
    "tests/unit/test_update_calls.py",
    "tests/unit/test_successors.py",
    "tests/lanes/test_kept_stores.py",
    "tests/unit/test_if_unchanged.py",
    "tests/unit/test_console_successors.py",
    "tests/unit/test_crossed_changes.py",
    "tests/unit/test_expiration.py",
    "tests/unit/test_order_of_writes.py",
    "tests/lanes/test_table_refused.py",
)

BUGS = (
    Bug(
        "absent-dead-letter-topic-for-a-moment",
        "A dead-letter topic that is absent is written, and taken back again.",
        '    _check_dead_letter_topic(tables, policy)\n    if "table_config" in changes:',
        '    if "table_config" in changes:',
    ),
    Bug(
        "interrupted-dead-letter-policy-stays",
        "Ctrl-C while a dead-letter topic is given leaves it unprotected.",
        "except (Exception, KeyboardInterrupt, SystemExit) as error:",
        "except Exception as error:",
    ),
    Bug(
        "subscription-deleted-whatever-it-is",
        "A deletion with if_unchanged deletes a subscription that was created again.",
        "    check_unchanged(stored, wanted)\n"
        "    _must_be_there(tables.registry.remove_subscription(stored.uid, wanted), name)\n",
        "    _must_be_there(tables.registry.remove_subscription(stored.uid), name)\n",
    ),
    Bug(
        "topic-deleted-whatever-it-is",
        "A deletion with if_unchanged deletes a topic that was created again.",
        "            check_unchanged(tables.topic(name), wanted)\n",
        "            pass\n",
    ),
    Bug(
        "update-answers-with-a-successor",
        "An update returns a subscription of the same name that was created meanwhile.",
        "_must_be_there(found is not None and found.uid == uid, name)",
        "_must_be_there(found is not None, name)",
    ),
    Bug(
        "update-on-new-terms",
        "What happened before an update is judged on the new terms.",
        "            state = source.catch_up(state, now)\n",
        "",
    ),
    Bug(
        "new-backoff-for-old-failures",
        "A lease that was over before an update of the retry policy gets the new backoff.",
        '    "retry_policy",\n',
        "",
    ),
    Bug(
        "longer-retention-brings-back",
        "Lengthening a subscription's retention brings back retained messages that were too old.",
        "return source.clip_retained(state, now) if is_clipped else state",
        "return state",
    ),
    Bug(
        "new-retention-covers-from-now",
        "Changing a topic's retention gives up what it covered.",
        'following["retained_from"] = retention.retained_from(stored, duration, now)',
        'following["retained_from"] = None if duration is None else now',
    ),
    Bug(
        "retention-of-an-earlier-look",
        "A topic's new retention covers by what was stored before somebody else changed it.",
        "retention.retained_from(stored, duration, now)",
        "retention.retained_from(changed, duration, now)",
    ),
    Bug(
        "fields-checked-once",
        "Two updates that cross make a ttl shorter than the retention of messages.",
        "        checked = rules.check_subscription_update(\n"
        "            fields, replace(stored, topic=before.topic), project\n        )\n",
        "        checked = changes\n",
    ),
    Bug(
        "dead-letter-topic-not-kept",
        "A dead-letter topic is deleted by who looked before a subscription was given it.",
        "if topic is None or not tables.registry.change_topic(topic.uid, {}):",
        "if topic is None:",
    ),
    Bug(
        "dead-letter-topic-checked-once",
        "A topic is deleted that becomes a dead-letter topic while it is being deleted.",
        "    _must_be_there(tables.registry.remove_topic(topic.uid, now, may_go), name)",
        "    may_go()\n    _must_be_there(tables.registry.remove_topic(topic.uid, now), name)",
    ),
    Bug(
        "refused-policy-stays",
        "A dead-letter policy stays although it was refused, as its topic was deleted meanwhile.",
        "            undo()\n",
        "            pass\n",
    ),
    Bug(
        "policy-that-failed-stays",
        "A dead-letter policy is given by a call that ends with an error of the storage.",
        "except (Exception, KeyboardInterrupt, SystemExit) as error:",
        "except NotFound as error:",
    ),
    Bug(
        "refused-policy-undoes-anothers",
        "A dead-letter policy that was refused takes along what somebody else has set.",
        "            if getattr(stored, field) == value\n",
        "",
    ),
    Bug(
        "refused-update-half-undone",
        "Of an update that was refused only the dead-letter policy is taken back.",
        "for field, value in made.items()",
        'for field, value in made.items() if field == "dead_letter_policy"',
    ),
    Bug(
        "refused-update-undoes-more",
        "An update that was refused takes along what somebody changed after it had looked.",
        "        replaced, made = stored, checked\n",
        "        made = checked\n",
    ),
    Bug(
        "update-is-no-activity",
        "An update does not keep a subscription from expiring.",
        'return {**checked, "update_time": now}',
        "return checked",
    ),
    Bug(
        "refused-update-settles",
        "An update of what is not as it was read any more settles the ack state all the same.",
        "    check_unchanged(before, wanted)\n",
        "",
    ),
    Bug(
        "crossed-update-overwrites",
        "An update of a subscription as it was read overwrites who wrote after it looked.",
        "changed = _change_subscription(tables, name, before.uid, decide, wanted)",
        "changed = _change_subscription(tables, name, before.uid, decide)",
    ),
    Bug(
        "dead-letter-topic-deleted",
        "The dead-letter topic of a single subscription can be deleted.",
        "    if users:",
        "    if len(users) > 1:",
    ),
    Bug(
        "subscription-begins-too-early",
        "A new subscription gets what was published before it existed.",
        "AckState(after_version=tail)",
        "AckState(after_version=0)",
    ),
    Bug(
        "update-to-an-absent-topic",
        "An update sets a dead-letter topic that does not exist.",
        '    _check_dead_letter_topic(tables, policy)\n    if "table_config"',
        '    policy = None\n    if "table_config"',
    ),
    Bug(
        "detached-is-listed",
        "A detached subscription is listed as attached to its topic.",
        "attached = [each for each in named if not each.detached]",
        "attached = [*named]",
    ),
    Bug(
        "expiring-name-is-free",
        "Who wants the name of a subscription that expires is told that it exists.",
        "    if not added and tables.registry.subscription(subscription.name) is None:",
        "    if added and tables.registry.subscription(subscription.name) is None:",
    ),
    Bug(
        "update-refuses-detached",
        "An update fails if somebody detaches the subscription while it is made.",
        "source = sources.still_attached(tables, before) if",
        "source = sources.source(tables, name) if",
    ),
    Bug(
        "subscription-in-doubt-is-told-as-not-created",
        "A subscription that could not be taken back is told as not created, and then exists.",
        """        except Exception as failed:
            raise Unknown(""",
        """        except Exception as failed:
            raise failed
            raise Unknown(""",
    ),
    Bug(
        "topic-row-before-its-table",
        "A topic exists before its table does.",
        "    tables.messages(topic.uid).create()\n"
        '    _must_be_free(tables.registry.add_topic(topic, schema_uid), "topic", topic.name)\n',
        '    _must_be_free(tables.registry.add_topic(topic, schema_uid), "topic", topic.name)\n'
        "    tables.messages(topic.uid).create()\n",
    ),
    Bug(
        "subscription-row-before-its-ack-state",
        "A subscription exists before its ack state does.",
        "    tables.ack_states.create(subscription.uid, AckState(after_version=tail))\n"
        "    added = tables.registry.add_subscription(subscription, topic.uid)\n",
        "    added = tables.registry.add_subscription(subscription, topic.uid)\n"
        "    tables.ack_states.create(subscription.uid, AckState(after_version=tail))\n",
    ),
    Bug(
        "two-create-one-subscription",
        "Of two who create a subscription at once, both are told that it is theirs.",
        '    _must_be_free(added, "subscription", subscription.name)\n',
        "",
    ),
    Bug(
        "detaching-is-no-update",
        "Detaching a subscription leaves its update_time.",
        '{"detached": True, "update_time": now}',
        '{"detached": True}',
    ),
    Bug(
        "a-list-without-states-of-tables",
        "A list of subscriptions tells every table as active.",
        "with_states = (table_writes.with_state(tables, each) for each in found)",
        "with_states = iter(found)",
    ),
    Bug(
        "updated-without-the-state-of-its-table",
        "An update returns the subscription without the state of its table.",
        "    return table_writes.with_state(tables, changed)\n",
        "    return changed\n",
    ),
    Bug(
        "update-of-nothing-without-the-state-of-its-table",
        "An update of no fields returns the subscription without the state of its table.",
        "    if not changes:\n        return table_writes.with_state(tables, before)",
        "    if not changes:\n        return before",
    ),
    Bug(
        "created-without-the-retention-of-its-topic",
        "A creation returns the subscription without the retention of its topic.",
        "replace(subscription, topic_message_retention_duration=topic.message_retention_duration),",
        "subscription,",
    ),
    Bug(
        "letters-are-no-condition",
        "An absent dead-letter topic is FAILED_PRECONDITION.",
        '    return NotFound(\n        f"dead_letter_policy.dead_letter_topic:',
        '    return FailedPrecondition(\n        f"dead_letter_policy.dead_letter_topic:',
    ),
    Bug(
        "policy-that-stays-is-told-as-an-error",
        "A dead-letter policy is stored, and told as failed.",
        "        except Exception as failed:\n"
        "            raise Unknown(\n"
        '                "dead_letter_policy: it is',
        "        except KeyError as failed:\n"
        "            raise Unknown(\n"
        '                "dead_letter_policy: it is',
    ),
)
