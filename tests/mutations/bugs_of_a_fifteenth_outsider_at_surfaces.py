"""Bugs at lines of commands, jobs and the console that were drawn by chance."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_FIFTEENTH_OUTSIDER_AT_SURFACES = (
    Bug(
        "zone-of-the-machine-for-times",
        "A time without a zone is one of this machine, whatever the options say.",
        "cli/application.py",
        'parse_time(text, self._clock.now(), "time", self.zone)',
        'parse_time(text, self._clock.now(), "time")',
    ),
    Bug(
        "full-disk-is-a-problem",
        "The doctor calls little room on the disk a problem, and fails.",
        "cli/checks.py",
        'return Finding("storage", "warning", detail, advice)',
        'return Finding("storage", "problem", detail, advice)',
    ),
    Bug(
        "locks-nobody-holds",
        "The doctor never finds a lock that is held.",
        "cli/checks.py",
        ("    except Timeout:\n        return True"),
        ("    except Timeout:\n        return False"),
    ),
    Bug(
        "last-allowed-host",
        "One name of a console is permitted at most, and taken for its letters.",
        "cli/console.py",
        ('allowed-host",\n            multiple=True,\n'),
        'allowed-host",\n',
    ),
    Bug(
        "snapshots-of-the-own-project",
        "A seek looks for the snapshot of another project in its own.",
        "cli/delivery.py",
        "app.snapshot(snapshot, snapshot_project)\n",
        "app.snapshot(snapshot)\n",
    ),
    Bug(
        "first-item-of-a-list",
        "A word is looked for in the first item of a list only.",
        "cli/grammar/filters.py",
        "return any(_found(each, word) for each in value)",
        "return any(_found(each, word) for each in value[:1])",
    ),
    Bug(
        "times-turned-around",
        "A filter compares times the wrong way around.",
        "cli/grammar/matching.py",
        "found, wanted = read_as_time(value, context), operand_time()",
        "found, wanted = operand_time(), read_as_time(value, context)",
    ),
    Bug(
        "billions-in-full",
        "A float from a billion on is written in full.",
        "cli/grammar/transforms.py",
        "int(exponent[1]) < 9 and",
        "int(exponent[1]) <= 9 and",
    ),
    Bug(
        "no-ndjson",
        "A pull writes no file that ends in .ndjson.",
        "cli/message_files.py",
        '    ".ndjson": _JsonLines,\n',
        "",
    ),
    Bug(
        "publish-completes-no-topic",
        "A shell completes no topic to publish to.",
        "cli/publish.py",
        '@click.argument("topic", type=TOPIC)\n',
        '@click.argument("topic")\n',
    ),
    Bug(
        "nothing-is-not-known",
        "A commit of no message tells no number of them.",
        "cli/rest.py",
        '"messageCount": commit.message_count,',
        '"messageCount": commit.message_count or None,',
    ),
    Bug(
        "exit-forgets-failures",
        "A shell that is left by exit tells of no failed line.",
        "cli/shell_lines.py",
        ("        except EOFError:\n            pass\n        return int(failed)"),
        ("        except EOFError:\n            return 0\n        return int(failed)"),
    ),
    Bug(
        "table-of-no-columns",
        "A table without a column is an empty line for each row.",
        "cli/tables.py",
        "if not rows or not shown:",
        "if not rows:",
    ),
    Bug(
        "durations-as-numbers",
        "The figures of ages over time are told as bare numbers.",
        "console/charts.py",
        "texts = tuple(map(write, values))",
        "texts = tuple(map(formatting.count, values))",
    ),
    Bug(
        "brackets-twice",
        "The URL of a console at an IPv6 address has its brackets twice.",
        "console/serve.py",
        "shown = f\"[{host.strip('[]')}]\" if",
        'shown = f"[{host}]" if',
    ),
    Bug(
        "snapshot-of-nothing",
        "A form makes a snapshot of no subscription.",
        "console/snapshots.py",
        ("    if not source:\n        form"),
        ("    if source is None:\n        form"),
    ),
    Bug(
        "letters-to-a-name-that-is-taken",
        "A form does not see that a subscription for dead letters has a name that is taken.",
        "console/subscription_edit.py",
        ("    elif field not in form.errors:\n        _check_free(console, form, name, field)"),
        ("    elif field not in form.errors:\n        pass"),
    ),
    Bug(
        "dead-letters-as-acked",
        "The list of subscriptions shows dead letters in the place of acknowledged messages.",
        "console/subscriptions.py",
        'row.of("ack_message_count_success")',
        'row.of("dead_letter_message_count")',
    ),
    Bug(
        "every-duty-is-named",
        "The job names duties that it did not carry out.",
        "jobs/maintain.py",
        "        print_report(report, names)",
        "        print_report(report, duties)",
    ),
    Bug(
        "no-star-in-a-later-call",
        "A call with a star after another call is no format.",
        "cli/grammar/syntax.py",
        "MORE.3: /\\.\\**(?:{_NAME})\\(/",
        "MORE.3: /\\.(?:{_NAME})\\(/",
    ),
    Bug(
        "characters-from-zero",
        "An error of a record names the character before.",
        "cli/records.py",
        (
            'at character {error.pos + 1}")\n'
            "    except (ValueError, RecursionError) as error:\n"
            "        return Record(place"
        ),
        (
            'at character {error.pos}")\n'
            "    except (ValueError, RecursionError) as error:\n"
            "        return Record(place"
        ),
    ),
    Bug(
        "deep-records",
        "A record that is too deep is a traceback.",
        "cli/records.py",
        (
            "    except (ValueError, RecursionError) as error:\n"
            '        return Record(place, data, f"it is not JSON: {error}")'
        ),
        (
            "    except ValueError as error:\n"
            '        return Record(place, data, f"it is not JSON: {error}")'
        ),
    ),
    Bug(
        "example-with-a-colon",
        "An example of an update has labels that are refused.",
        "cli/subscriptions.py",
        "--clear-dead-letter-policy --update-labels=env=test",
        "--clear-dead-letter-policy --update-labels=env:test",
    ),
    Bug(
        "error-of-letters-nowhere",
        "What the subscription for dead letters lacks is not told at its field.",
        "console/dead_letters.py",
        'form.add_error(error, {"subscription": field, "": field})',
        'form.add_error(error, {"subscription": field})',
    ),
    Bug(
        "vacuum-begun-is-over",
        "The first page tells of a VACUUM that has begun only.",
        "console/overview.py",
        '"vacuum end": "Files',
        '"vacuum start": "Files',
    ),
    Bug(
        "until-from",
        "The labels of the times of a search are each other's.",
        "console/responses.py",
        ('"earliest": "Published from",\n    "latest": "Published until",'),
        ('"earliest": "Published until",\n    "latest": "Published from",'),
    ),
    Bug(
        "letters-of-the-topic",
        "The subscription for dead letters is one of the subscription's own topic.",
        "console/subscription_edit.py",
        "console.store.create_subscription(name, letters.dead_letter_topic)",
        "console.store.create_subscription(name, subscription.topic)",
    ),
)
