"""Bugs of the command line and of the console."""

from __future__ import annotations

from tests.mutations.bug import Bug

_PULL = "cli/pull.py"
_APPLICATION = "cli/application.py"

BUGS_OF_COMMANDS = (
    Bug(
        "short-lease-of-a-pull",
        "A pull with --auto-ack has its messages only for the ack deadline, however many they are.",
        _PULL,
        "self.batch(store, most, MAX_ACK_DEADLINE_SECONDS)",
        "self.batch(store, most, 10)",
    ),
    Bug(
        "acknowledged-before-it-is-printed",
        "What shows no status is acknowledged before it is printed.",
        _PULL,
        "shows_status = not form.columns or",
        "shows_status = True or",
    ),
    Bug(
        "unprinted-messages-stay-leased",
        "What could not be printed comes again after ten minutes only.",
        _PULL,
        "self.held.pop().give_back()",
        "self.held.pop().modify_ack_deadline(600)",
    ),
    Bug(
        "late-ack-that-counted-is-a-failure",
        "A late ack that counted is shown as a failure.",
        _PULL,
        "return {*result.invalid, *late}.difference(counted)",
        "return {*result.invalid, *late}",
    ),
    Bug(
        "data-steers-a-terminal",
        "Control characters of a message reach the terminal.",
        _APPLICATION,
        "shown = for_terminal(text) if sys.stdout.isatty() else text",
        "shown = text",
    ),
    Bug(
        "data-loses-escape-sequences",
        "Of data that a program reads the escape sequences are missing.",
        _APPLICATION,
        "click.echo(shown, nl=False, color=True)",
        "click.echo(shown, nl=False)",
    ),
    Bug(
        "ids-that-are-not-named-fail",
        "An ack id that a server did not name is taken for one that failed, whatever the code.",
        "cli/endpoint/errors.py",
        "unnamed = INVALID_ACK_ID if self.code == InvalidArgument.code else OF_OTHERS",
        "unnamed = INVALID_ACK_ID",
    ),
    Bug(
        "one-cookie-for-all-ports",
        "Two consoles on one host end each other's sessions.",
        "console/security.py",
        'return COOKIE if port is None else f"{COOKIE}_{port}"',
        "return COOKIE",
    ),
    Bug(
        "empty-file-of-certificates-trusts-all",
        "An empty file of certificates trusts the public authorities.",
        "cli/endpoint/connection.py",
        '    pem = _read(trusted, "endpoint_tls")\n',
        '    pem = _read(trusted, "endpoint_tls")\n'
        "    if not pem:\n"
        "        return grpc.ssl_channel_credentials(pem)\n",
    ),
    Bug(
        "no-response-is-a-success",
        "A status without a response is told as done.",
        "cli/endpoint/connection.py",
        "        if response is None:",
        '        if response is None and name == "Publish":',
    ),
    Bug(
        "details-that-cannot-be-read-hide-an-error",
        "The error of a server is not told whose details cannot be read.",
        "cli/endpoint/errors.py",
        "    except DecodeError:",
        "    except UnicodeError:",
    ),
    Bug(
        "detail-that-cannot-be-read-hides-an-error",
        "A detail that cannot be read hides the error of a server.",
        "cli/endpoint/errors.py",
        "    with suppress(DecodeError):",
        "    with suppress(UnicodeError):",
    ),
    Bug(
        "server-that-died-is-said-to-have-done-nothing",
        "A request that a server may have carried out before it died is told as never sent.",
        "cli/endpoint/errors.py",
        "        if not text.startswith(_NOT_CONNECTED):",
        "        if False:",
    ),
    Bug(
        "no-ack-ids-succeed-without-a-request",
        "A command without ack ids says that it is done, and asks no server.",
        "cli/endpoint/client.py",
        "while wanted or not given:",
        "while wanted:",
    ),
    Bug(
        "server-that-was-started-again-is-not-found",
        "A shell tells for up to two minutes that a server is gone which was started again.",
        "cli/endpoint/connection.py",
        "RECONNECT_SECONDS = 1\n",
        "RECONNECT_SECONDS = 120\n",
    ),
    Bug(
        "message-without-an-ack-id-is-not-printed",
        "A message with an empty ack id is acknowledged, and not printed.",
        "cli/pull.py",
        'each.get("ackId") in failed',
        'each["ackId"] in failed',
    ),
)
