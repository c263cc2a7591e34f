"""Seeded bugs of an eighth outsider at the surfaces, chosen without a look at tests or list."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_EIGHTH_OUTSIDER_AT_SURFACES = (
    Bug(
        "batch-that-cannot-be-read-stays-leased",
        "A batch whose messages cannot be read for a file stays leased for ten minutes.",
        "cli/pull.py",
        "                    self.held.append(batch)\n",
        "                    self.held[:] = [batch] if ack_deadline is None else self.held\n",
    ),
    Bug(
        "limit-of-no-messages",
        "--follow --limit=0 is accepted.",
        "cli/pull.py",
        "limit is not None and limit < 1:",
        "limit is not None and limit < 0:",
    ),
    Bug(
        "optional-of-a-later-column",
        "The setting optional that follows the columns is dropped.",
        "cli/formats.py",
        '"align", "optional", "width", "wrap", "nested")',
        '"align", "width", "wrap", "nested")',
    ),
    Bug(
        "unread-resources-are-problems",
        "With more than 200 resources doctor takes those that it left out for problems.",
        "cli/checks.py",
        "    checked = min(count, MOST)\n",
        "    checked = count\n",
    ),
    Bug(
        "clock-ahead-by-the-wrong-side",
        "doctor warns of commits of the past, and not of the future.",
        "cli/checks.py",
        "found[0].time - now if found",
        "now - found[0].time if found",
    ),
    Bug(
        "ending-in-capitals-is-not-unpacked",
        "A file that ends in .GZ is read as it is.",
        "cli/message_lines.py",
        "ending = Path(path).suffix.lower()\n    if ending in _PACKED",
        "ending = Path(path).suffix\n    if ending in _PACKED",
    ),
    Bug(
        "retention-of-the-topic-is-its-own",
        "The record of a subscription has its own retention as that of the topic.",
        "cli/rest.py",
        '            "topicMessageRetentionDuration": duration_text(\n'
        "                subscription.topic_message_retention_duration\n"
        "            ),",
        '            "topicMessageRetentionDuration": duration_text(\n'
        "                subscription.message_retention_duration\n"
        "            ),",
    ),
    Bug(
        "heading-without-rows",
        "CSV of no records has a heading.",
        "cli/printing.py",
        'if csv and "no-heading" not in given and records and any(headings):',
        'if csv and "no-heading" not in given and any(headings):',
    ),
    Bug(
        "title-on-every-page",
        "The title of a table is printed above every page.",
        "cli/printing.py",
        '        attributes.pop("title", None)\n',
        "",
    ),
    Bug(
        "months-are-durations",
        "A duration of months is taken as none.",
        "cli/times.py",
        "if not (found.years or found.months or found.negative):",
        "if not (found.years or found.negative):",
    ),
    Bug(
        "mountain-daylight-time-is-standard",
        "MDT is seven hours behind UTC.",
        "cli/times.py",
        '"MST": -7, "MDT": -6',
        '"MST": -7, "MDT": -7',
    ),
    Bug(
        "rates-of-a-clock-set-back",
        "A sample after the clock was set back has rates below zero.",
        "cli/samples.py",
        "before is not None and seconds > 0 else acks",
        "before is not None and seconds else acks",
    ),
    Bug(
        "missing-named-config-is-ignored",
        "A file that PUBSUB_DELTA_CONFIG names and that does not exist is taken for none.",
        "cli/settings.py",
        'if not named and not ("HOME" in environment and path.is_file()):',
        'if not ((named or "HOME" in environment) and path.is_file()):',
    ),
    Bug(
        "rows-found-do-not-count-for-the-live-list",
        "The list of messages grows beyond its limit by what the search found first.",
        "console/message_search.py",
        "room = MOST_LIVE - listed - added",
        "room = MOST_LIVE - added",
    ),
    Bug(
        "failed-download-leaves-its-file",
        "A Parquet download that fails leaves its temporary file.",
        "console/message_search.py",
        "tempfile.TemporaryFile()",
        "tempfile.NamedTemporaryFile(delete=False)",
    ),
    Bug(
        "token-of-sixteen-characters",
        "A token of exactly 16 characters is refused.",
        "console/security.py",
        "len(self.token) < 16",
        "len(self.token) <= 16",
    ),
    Bug(
        "reloaded-conflict-of-a-deletion",
        "The page of a deletion that met a change shows a bare error when it is requested again.",
        "console/resource_changes.py",
        "return conflict(asked) if is_other or form.warning else failure_page(asked, error)",
        "return conflict(asked) if is_other else failure_page(asked, error)",
    ),
    Bug(
        "five-subscriptions-and-others",
        "The page that deletes a topic with five subscriptions tells of others.",
        "console/topic_edit.py",
        "len(attached) > 5)",
        "len(attached) >= 5)",
    ),
    Bug(
        "taken-topic-id-is-no-error-of-the-field",
        "The form of a new topic shows a taken ID above the form, and not at the field.",
        "console/topic_edit.py",
        '    if error.code == "ALREADY_EXISTS":\n        fields[""] = "id"\n',
        "",
    ),
    Bug(
        "letter-of-the-same-moment",
        "A dead letter forwarded when its source was created is taken for one of it.",
        "console/dead_letters.py",
        "source.create_time >= message.publish_time",
        "source.create_time > message.publish_time",
    ),
    Bug(
        "suggested-id-is-too-long",
        "The suggested ID of a subscription to a topic with a long name is not accepted.",
        "console/dead_letters.py",
        "[:240]}-kept",
        "[:255]}-kept",
    ),
    Bug(
        "running-searches-are-dropped",
        "Searches that still run are dropped for newer ones.",
        "console/searches.py",
        "for id_, each in self._searches.items() if each.is_done]:",
        "for id_, each in self._searches.items() if each is not running]:",
    ),
    Bug(
        "option-of-a-stream-of-zero",
        "maxMessagesPerTrigger of 0 is accepted.",
        "datasource/options.py",
        'if not re.fullmatch(r"\\d{1,18}", text) or not int(text):\n'
        '            raise InvalidArgument(f"{name}',
        'if not re.fullmatch(r"\\d{1,18}", text):\n            raise InvalidArgument(f"{name}',
    ),
    Bug(
        "later-micro-batch-is-news",
        "A number that the reader has used before a later one is taken for a new micro-batch.",
        "datasource/consumer.py",
        "last.batch_id >= offset.batch",
        "last.batch_id == offset.batch",
    ),
    Bug(
        "size-of-a-partition-counts-on",
        "After the first full partition every file begins another one.",
        "datasource/partitions.py",
        "            ends.append(first)\n            cost = 0\n",
        "            ends.append(first)\n",
    ),
    Bug(
        "packed-ending-of-capitals",
        "A file that ends in .GZ has no format.",
        "jobs/file_formats.py",
        'return ending if ending.lower() in PACKED else ""',
        'return ending if ending in PACKED else ""',
    ),
    Bug(
        "exit-code-of-unknown",
        "A commit in doubt ends a job as a refusal.",
        "jobs/terminal.py",
        "_TEMPORARY = (Aborted, Unavailable, Unknown)",
        "_TEMPORARY = (Aborted, Unavailable)",
    ),
)
