"""Seeded bugs of ``cli/pull.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_help.py",
    "tests/unit/test_cli_pull.py",
    "tests/unit/test_cli_pull_follow.py",
    "tests/unit/test_cli_pull_files.py",
    "tests/unit/test_cli_signals.py",
    "tests/unit/test_cli_broken_servers.py",
    "tests/unit/test_cli_streams.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "sigterm-keeps-what-a-pull-has-leased",
        "What a pull without --follow has leased waits when SIGTERM ends it.",
        "    with puller.signals.handled(), puller.released_on_error():\n",
        "    with puller.released_on_error():\n",
    ),
    Bug(
        "signal-between-an-ack-and-its-print",
        "A pull that is ended when it has acknowledged messages does not print them.",
        "    with puller.signals.put_off():  # what is acknowledged is printed, too\n",
        "    if True:\n",
    ),
    Bug(
        "short-lease-of-a-pull",
        "A pull with --auto-ack has its messages only for the ack deadline, however many they are.",
        "self.batch(store, most, MAX_ACK_DEADLINE_SECONDS)",
        "self.batch(store, most, 10)",
    ),
    Bug(
        "acknowledged-before-it-is-printed",
        "What shows no status is acknowledged before it is printed.",
        "shows_status = not form.columns or",
        "shows_status = True or",
    ),
    Bug(
        "unprinted-messages-stay-leased",
        "What could not be printed comes again after ten minutes only.",
        "self.held.pop().give_back()",
        "self.held.pop().modify_ack_deadline(600)",
    ),
    Bug(
        "late-ack-that-counted-is-a-failure",
        "A late ack that counted is shown as a failure.",
        "return {*result.invalid, *late}.difference(counted)",
        "return {*result.invalid, *late}",
    ),
    Bug(
        "message-without-an-ack-id-is-not-printed",
        "A message with an empty ack id is acknowledged, and not printed.",
        'each.get("ackId") in failed',
        'each["ackId"] in failed',
    ),
    Bug(
        "pull-that-shows-nothing-keeps-its-messages",
        "Messages of a pull whose format is wrong are leased by nobody who has their ack ids.",
        "    app.check_all(records, PULL_FORMAT)\n    check_reader()\n    try:",
        "    puller.held.clear()\n    try:",
    ),
    Bug(
        "wait-is-over-at-once",
        "A pull with --wait waits for no message.",
        "if batch.message_count or self._is_over(begun):",
        "if True:",
    ),
    Bug(
        "tail-acknowledges-before-it-prints",
        "A pull with --follow acknowledges messages and prints them then.",
        "            app.print(written.text(records))\n"
        "            with puller.signals.put_off():\n"
        "                failed += puller.acknowledge(app.service)\n",
        "            with puller.signals.put_off():\n"
        "                failed += puller.acknowledge(app.service)\n"
        "                app.print(written.text(records))\n",
    ),
    Bug(
        "acknowledged-before-it-is-in-the-file",
        "Messages of a file are acknowledged as they come.",
        "        yield messages\n",
        "        batch.ack()\n        yield messages\n",
    ),
    Bug(
        "leases-end-while-a-file-is-written",
        "The leases of a file that takes long to write end before it is done.",
        'if puller.app.read_time("now") - extended >= EXTEND_AFTER:',
        "if False:",
    ),
    Bug(
        "acked-before-it-is-formatted",
        "A message whose status is to be shown is acknowledged, though its format shows nothing.",
        'app.check_all([{**each, "ackStatus": "SUCCESS"} for each in records], PULL_FORMAT)',
        "pass",
    ),
    Bug(
        "acked-without-a-reader",
        "A message whose status is to be shown is acknowledged, though nobody reads the output.",
        "    check_reader()\n    app.check_all(",
        "    app.check_all(",
    ),
    Bug(
        "follow-beyond-its-limit",
        "pull --follow --limit takes more than its limit with its last batch.",
        "min(BATCH_SIZE, limit - acked)",
        "min(BATCH_SIZE, limit)",
    ),
    Bug(
        "pull-hides-invalid-ids",
        "pull --auto-ack says SUCCESS of an ack id that was invalid.",
        "    return {*result.invalid, *late}.difference(counted)\n",
        "    return set(late).difference(counted)\n",
    ),
    Bug(
        "file-waits-for-more",
        "pull --wait --output waits for more messages after the last one, and never ends.",
        "        puller = replace(puller, wait=timedelta(0))\n",
        "",
    ),
    Bug(
        "ever-longer-waits",
        "A waiting pull of the command line asks ever more rarely.",
        "pause = min(2 * pause, LONGEST)",
        "pause = max(2 * pause, LONGEST)",
    ),
    Bug(
        "late-acks-told-as-done",
        "pull --auto-ack says SUCCESS of late acks that had no effect.",
        "    return {*result.invalid, *late}.difference(counted)\n",
        "    return {*result.invalid}.difference(counted)\n",
    ),
    Bug(
        "failures-of-the-last-batch",
        "pull --follow tells of no ack that failed before the last batch.",
        "                failed += puller.acknowledge(app.service)\n",
        "                failed = list(puller.acknowledge(app.service))\n",
    ),
    Bug(
        "only-the-last-batch-is-extended",
        "pull --output extends the lease of the last batch only.",
        "            for each in puller.held:\n"
        "                each.modify_ack_deadline(MAX_ACK_DEADLINE_SECONDS)"
        "\n"
        "            extended",
        "            batch.modify_ack_deadline(MAX_ACK_DEADLINE_SECONDS)\n            extended",
    ),
    Bug(
        "file-limit-per-batch",
        "pull --output --limit takes more messages than the limit.",
        "min(most, limit - count)",
        "min(most, limit)",
    ),
    Bug(
        "failed-status-before-output",
        "pull --auto-ack tells SUCCESS of messages that were not acknowledged.",
        '"FAILURE" if each.get("ackId") in failed else "SUCCESS"',
        '"SUCCESS"',
    ),
    Bug(
        "batch-that-cannot-be-read-stays-leased",
        "A batch whose messages cannot be read for a file stays leased for ten minutes.",
        "                    self.held.append(batch)\n",
        "                    self.held[:] = [batch] if ack_deadline is None else self.held\n",
    ),
    Bug(
        "limit-of-no-messages",
        "--follow --limit=0 is accepted.",
        "limit is not None and limit < 1:",
        "limit is not None and limit < 0:",
    ),
    Bug(
        "a-file-not-acknowledged-is-a-failure",
        "What pull --output brings into a file has failed where it is not acknowledged.",
        "self.held[0].give_back()",
        "self.held[0].modify_ack_deadline(0)",
    ),
    Bug(
        "what-is-not-printed-has-failed",
        "What a pull has not printed when it is ended counts as a failed delivery.",
        "self.held.pop().give_back()",
        "self.held.pop().modify_ack_deadline(0)",
    ),
    Bug(
        "leased-though-the-disk-is-full",
        "A pull keeps messages whose ack ids a full disk did not take.",
        "except (BrokenPipeError, KeyboardInterrupt):\n        puller.held.clear()",
        "except BaseException:\n        puller.held.clear()",
    ),
    Bug(
        "leased-for-a-reader-that-is-gone",
        "A pull keeps messages whose ack ids nobody reads any more.",
        "app.check_all(records, PULL_FORMAT)\n    check_reader()\n    try:",
        "app.check_all(records, PULL_FORMAT)\n    try:",
    ),
)
