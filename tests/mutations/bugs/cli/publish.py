"""Seeded bugs of ``cli/publish.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_help.py",
    "tests/unit/test_cli_publish.py",
    "tests/unit/test_cli_publish_schemas.py",
    "tests/unit/test_cli_publish_records.py",
    "tests/unit/test_cli_signals.py",
    "tests/unit/test_cli_streams.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "signal-before-a-publish-is-counted",
        "publish --from that is ended when a batch has landed does not count it.",
        "        with signals.put_off():\n",
        "        if True:\n",
    ),
    Bug(
        "a-pipe-read-twice",
        "A pipe is read to its end before it is published, and then has nothing.",
        "if bad is None and Path(source).is_file():",
        "if bad is None and source != STANDARD_INPUT:",
    ),
    Bug(
        "too-many-in-a-request",
        "A server is sent more messages at once than it takes.",
        "if app.settings.endpoint is None else MAX_REQUEST",
        "if app.settings.endpoint is None else MOST_MESSAGES",
    ),
    Bug(
        "file-of-bad-records-is-not-named",
        "If bad records cannot be written, it is told that the file of messages cannot be read.",
        "        except OSError as error:\n",
        "        except EOFError as error:\n",
    ),
    Bug(
        "published-before-it-is",
        "publish --from counts the messages of a batch that failed as published.",
        "            app.call(lambda service: service.publish(topic, part.messages))\n"
        "            published, count = published + len(part), count + 1\n",
        "            published, count = published + len(part), count + 1\n"
        "            app.call(lambda service: service.publish(topic, part.messages))\n",
    ),
    Bug(
        "publish-completes-no-topic",
        "A shell completes no topic to publish to.",
        '@click.argument("topic", type=TOPIC)\n',
        '@click.argument("topic")\n',
    ),
    Bug(
        "published-and-an-error",
        "A publish whose id could not be printed does not say that it has published.",
        '(f"{error}; the message was published as {ids[0]}")',
        "(str(error))",
    ),
    Bug(
        "refused-line-takes-its-batch",
        "The lines before one that a publish has refused are not published.",
        "(batch.part(index + 1), batch.part(0, index))",
        "(batch.part(index + 1),)",
    ),
    Bug(
        "refused-by-its-place-in-a-batch",
        "A message that a publish has refused is named by its place in the batch.",
        '        raise InvalidArgument(f"{source}: {record.place}: {why}") from None\n',
        "        raise error\n",
    ),
)
