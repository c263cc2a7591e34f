"""Bugs in branches of console and commands that no test ran until coverage was measured."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_UNTESTED_BRANCHES_AT_SURFACES = (
    Bug(
        "search-cannot-be-stopped",
        "Stop leaves a search of the console reading its topic.",
        "console/message_search.py",
        '    running.stop()\n    if "hx-request"',
        '    if "hx-request"',
    ),
    Bug(
        "lists-end-after-two-pages",
        "A console of more than 2,000 resources lists the first ones.",
        "console/lists.py",
        "    while found.next_page_token and len(items) < MOST:",
        "    if found.next_page_token and len(items) < MOST:",
    ),
    Bug(
        "push-is-listed-as-pull",
        "A list tells that messages of a push subscription are pulled.",
        "console/subscriptions.py",
        '        return "Push"\n',
        '        return "Pull"\n',
    ),
    Bug(
        "detached-subscription-is-measured",
        "The page that deletes a detached subscription is an error.",
        "console/subscription_edit.py",
        "        if subscription.detached:\n            return",
        "        if not subscription.topic:\n            return",
    ),
    Bug(
        "acks-that-failed-are-told-as-done",
        "Who acknowledges by the console is not told that it failed.",
        "console/pulling.py",
        "        return redirect_with_problem(asked, str(error), *at)\n\n    return run_job",
        '        return redirect_with_flash(asked, "Done.", *at)\n\n    return run_job',
    ),
    Bug(
        "signed-in-is-asked-again",
        "A page asks for the token of a session that has it.",
        "console/auth.py",
        "    if request.state.session.signed_in:\n        return redirect()",
        "    if request.state.session is None:\n        return redirect()",
    ),
    Bug(
        "newest-message-for-a-page-is-dropped",
        "Of too many messages for pages the newest is never shown.",
        "console/flash.py",
        "                self._by_key.popitem(last=False)",
        "                self._by_key.popitem()",
    ),
    Bug(
        "list-of-a-schema-is-a-text",
        "A list within a message is shown as Python writes it.",
        "console/message_data.py",
        "    if isinstance(value, list):\n        return [",
        "    if isinstance(value, tuple):\n        return [",
    ),
    Bug(
        "bytes-of-a-schema-are-pythons",
        "Bytes within a message are shown as b'…'.",
        "console/message_data.py",
        '        return value.hex(" ")\n    return _Number',
        "        return str(value)\n    return _Number",
    ),
    Bug(
        "map-of-a-schema-is-a-list",
        "A map within a message is shown as a list of pairs.",
        "console/message_data.py",
        "all(isinstance(each, tuple) for each in value):",
        "all(isinstance(each, dict) for each in value):",
    ),
    Bug(
        "text-that-is-cut-is-bytes",
        "A long text is listed in hexadecimal as its last character is cut.",
        "console/message_search.py",
        "        if len(text.encode()) + 4 < len(message.data[:_LINE]):",
        "        if text.encode() != message.data[:_LINE]:",
    ),
    Bug(
        "yaml-cannot-be-read",
        "A soft hyphen makes YAML that nobody reads.",
        "cli/documents.py",
        '        return f"\\\\x{code:02x}"',
        '        return f"\\\\u{code:02x}"',
    ),
    Bug(
        "sort-key-that-is-not-shown-has-no-direction",
        "--sort-by=~KEY sorts the wrong way where no column shows the key.",
        "cli/formats.py",
        '            columns.append(Column(key, "", order=order, reverse=reverse, hidden=True))',
        '            columns.append(Column(key, "", order=order, hidden=True))',
    ),
    Bug(
        "map-reaches-one-list-deep",
        "map(2) applies the next transform to lists.",
        "cli/grammar/calls.py",
        "                for _ in range(self.depth - 1):",
        "                for _ in range(self.depth - 2):",
    ),
    Bug(
        "unknown-time-zone-is-local",
        "date(tz=Mars) shows the local time.",
        "cli/grammar/time_transforms.py",
        '    if found is None:\n        raise InvalidArgument(\n            f"tz:',
        '    if found is None and not name:\n        raise InvalidArgument(\n            f"tz:',
    ),
    Bug(
        "doctor-ends-at-a-damaged-subscription",
        "doctor tells nothing of the subscriptions behind a damaged one.",
        "cli/checks.py",
        "            yield found\n"
        "            continue\n"
        "        sound += 1\n"
        "        yield from _policies",
        "            yield found\n"
        "            return\n"
        "        sound += 1\n"
        "        yield from _policies",
    ),
    Bug(
        "root-of-another-user-is-well",
        "doctor finds nothing where the store cannot be written.",
        "cli/checks.py",
        "    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):",
        "    if os.access(root, os.R_OK | os.W_OK | os.X_OK) is None:",
    ),
    Bug(
        "gone-job-is-there",
        "A job that is gone is no 404.",
        "console/job_pages.py",
        "        return error_page(request, _UNKNOWN_JOB, 404)\n    job.wait",
        "        return error_page(request, _UNKNOWN_JOB, 200)\n    job.wait",
    ),
    Bug(
        "policy-is-not-read-at-a-hangup",
        "A hangup ends a server that has a policy file.",
        "server/serve.py",
        "            loop.add_signal_handler(signal.SIGHUP, reload)",
        "            loop.add_signal_handler(signal.SIGHUP, told_to_end.set)",
    ),
    Bug(
        "takeover-that-failed-is-not-tried-again",
        "A server takes nothing over any more after one failure.",
        "server/serve.py",
        '            except Exception:\n                logger.exception("what a server has left',
        '            except KeyError:\n                logger.exception("what a server has left',
    ),
    Bug(
        "table-of-gcloud-is-no-table",
        "--bigquery-table=project:dataset.table is refused.",
        "policy/table_configs.py",
        "    if named:\n",
        '    if named is None and table == "":\n',
    ),
    Bug(
        "long-number-is-no-json",
        "A record of JSON with a number of 5,000 digits is told as no JSON.",
        "cli/records.py",
        "_DECODER = json.JSONDecoder(parse_int=str)",
        "_DECODER = json.JSONDecoder()",
    ),
    Bug(
        "deep-record-ends-a-publish",
        "A record that is nested too deeply is a RecursionError.",
        "cli/records.py",
        "    except (ValueError, RecursionError) as error:\n        return Record",
        "    except ValueError as error:\n        return Record",
    ),
    Bug(
        "deep-array-ends-a-publish",
        "An array that is nested too deeply is a RecursionError.",
        "cli/records.py",
        "    except (ValueError, RecursionError) as error:\n        yield Record",
        "    except ValueError as error:\n        yield Record",
    ),
    Bug(
        "dry-run-removes-commits",
        "maintain --dry-run removes the old commits of topics.",
        "delivery/discard.py",
        "    if dry_run:\n        return len(old)",
        "    if dry_run and not old:\n        return len(old)",
    ),
    Bug(
        "long-number-is-told-with-pythons-advice",
        "Who publishes a number of 5,000 digits is told to call sys.set_int_max_str_digits().",
        "policy/schemas/json_data.py",
        "    except (json.JSONDecodeError, NotStrict) as error:",
        "    except ValueError as error:",
    ),
)
