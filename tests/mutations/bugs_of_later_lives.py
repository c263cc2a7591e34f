"""Seeded bugs about what was deleted and created again, and what others do between two lines."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_LATER_LIVES: tuple[Bug, ...] = (
    Bug(
        "retention-fails-in-a-race",
        "A deletion of messages that lost a race fails in place of waiting for the next run.",
        "tables/messages/messages.py",
        "            except Conflict:\n                return False\n",
        "            except Conflict:\n                raise\n",
    ),
    Bug(
        "output-created-twice",
        "A job fails where another one has just created the table of its output.",
        "jobs/outputs.py",
        "    return bool(_RACES.search(str(error)[:2000]))",
        "    return False",
    ),
    Bug(
        "ack-of-a-later-subscription",
        "A server refuses ack ids of a subscription that was created anew elsewhere.",
        "server/hub.py",
        "if any(not each.startswith(found.leaser.uid) for each in ack_ids):",
        "if not ack_ids:",
    ),
    Bug(
        "wildcard-tells-what-exists",
        "TestIamPermissions refuses a wildcard only on what exists.",
        "server/iam_service.py",
        "        has = granted(name.collection, request.permissions)  # first: a refusal reveals "
        "nothing\n",
        "        has = [each for each in request.permissions if '*' not in each]\n",
    ),
    Bug(
        "rest-of-a-field-as-it-was-read",
        "An update of a part of a field takes back what others have changed of the rest.",
        "server/partial_updates.py",
        "return await write(stored, stored if depends else None)",
        "return await write(stored, None)",
    ),
    Bug(
        "command-updates-whatever-is-stored",
        "A command that changes one label takes back those that others have set since its look.",
        "cli/partial_updates.py",
        'else {"if_unchanged": stored}',
        "else {}",
    ),
    Bug(
        "mask-of-an-unknown-subfield",
        "A mask that names an unknown part of a field ends in an unexpected failure.",
        "server/update_masks.py",
        "    for part in inner:\n",
        "    for part in ():\n",
    ),
    Bug(
        "mask-of-one-label-clears-the-others",
        "A mask that names one label replaces all of them.",
        "server/update_masks.py",
        "    paths = [path for path, key in keys.items() if key is None]\n",
        "    paths = [path if key is None else 'labels' for path, key in keys.items()]\n",
    ),
    Bug(
        "retention-that-fails-stops-the-rest",
        "A topic whose retention is not known is not optimized.",
        "operations/maintain.py",
        "if duties.optimize and not duties.dry_run:",
        "if duties.optimize and not duties.dry_run and kept.name not in report.problems:",
    ),
    Bug(
        "snapshot-as-it-was-read",
        "An update of a snapshot returns it without what others have changed meanwhile.",
        "operations/snapshot.py",
        '        raise NotFound(f"{name} was deleted meanwhile; create it again")\n'
        "    return found\n",
        "        return snapshot\n    return replace(snapshot, **changes)\n",
    ),
    Bug(
        "account-checked-once",
        "Whoever changes an endpoint gets tokens of an account that was set since the check.",
        "server/subscriber_service.py",
        "if self._access is not None and unchanged is not None:",
        "if self._access is not None and unchanged is None:",
    ),
    Bug(
        "page-deletes-what-came-later",
        "The console deletes what was created again since its page was shown.",
        "console/resource_changes.py",
        '    stored = read(id_)\n    if form["fingerprint"] != fingerprint(stored):\n'
        "        return conflict(request)\n",
        "    stored = read(id_)\n",
    ),
    Bug(
        "subscription-deleted-whatever-it-is",
        "A deletion with if_unchanged deletes a subscription that was created again.",
        "operations/administer.py",
        "    if wanted is not None:\n        check_unchanged(stored, wanted)\n"
        "    _must_be_there(tables.registry.remove_subscription(stored.uid, wanted), name)\n",
        "    _must_be_there(tables.registry.remove_subscription(stored.uid), name)\n",
    ),
    Bug(
        "topic-deleted-whatever-it-is",
        "A deletion with if_unchanged deletes a topic that was created again.",
        "operations/administer.py",
        "            check_unchanged(tables.topic(name), wanted)\n",
        "            pass\n",
    ),
    Bug(
        "snapshot-deleted-whatever-it-is",
        "A deletion with if_unchanged deletes a snapshot that was created again.",
        "operations/snapshot.py",
        "        check_unchanged(stored, wanted)\n"
        "    if not tables.registry.hide_snapshot(stored.uid, wanted):\n",
        "        pass\n    if not tables.registry.hide_snapshot(stored.uid):\n",
    ),
    Bug(
        "seek-of-whatever-it-is",
        "A seek with if_unchanged seeks a subscription that was created again.",
        "operations/seek.py",
        "            check_unchanged(source.subscription, wanted)\n",
        "            pass\n",
    ),
    Bug(
        "replay-of-another-snapshot",
        "The console replays a snapshot that was created again since the preview.",
        "console/replay.py",
        'found += fingerprint(store.get_snapshot(target["snapshot"]))',
        'found += str(store.get_snapshot(target["snapshot"]).name)',
    ),
    Bug(
        "message-of-another-topic",
        "The console publishes a message of a later topic in the place of the one that it showed.",
        "console/message_page.py",
        "if of is not None and search.topic_uid != of:",
        "if of is not None and search.topic_uid != search.topic_uid:",
    ),
    Bug(
        "origin-that-is-no-url",
        "The console takes a request whose origin is no URL for one of its own.",
        "console/security.py",
        "    except ValueError:  # it is no URL\n        return True\n",
        "    except ValueError:\n        return False\n",
    ),
    Bug(
        "checkpoint-of-an-earlier-life",
        "A query goes on with batch ids that its sink has seen, on a later subscription.",
        "tables/lanes/spark/ticks.py",
        'check_checkpoint(self._name, self._uid, offset.get("subscription"))',
        "check_checkpoint(self._name, self._uid, self._uid)",
    ),
    Bug(
        "other-messages-of-a-batch-id",
        "A micro-batch that is run again after a RESTORE gets messages that its sink skips.",
        "operations/pull.py",
        "        if repeated:\n",
        "        if False:\n",
    ),
    Bug(
        "rows-of-an-earlier-store",
        "A process reads the resources of a store that was removed, where another was created.",
        "tables/registry/resource_table.py",
        "            if (version, table_id) != (last, self._last_id):\n",
        "            if version != last:\n",
    ),
    Bug(
        "acknowledged-backwards",
        "A watch shows rates below zero where its subscription was created again.",
        "cli/samples.py",
        "max(0, n - known.get(name, 0))",
        "(n - known.get(name, 0))",
    ),
    Bug(
        "update-answers-with-a-successor",
        "An update returns a subscription of the same name that was created meanwhile.",
        "operations/administer.py",
        "_must_be_there(found is not None and found.uid == uid, name)",
        "_must_be_there(found is not None, name)",
    ),
)
