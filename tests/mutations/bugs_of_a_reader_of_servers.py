"""Bugs where a server, asked in odd ways, would do other than its pages say."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_READER_OF_SERVERS = (
    Bug(
        "enum-of-any-value",
        "REST takes true, 1.5 and digits of any script for a value of an enum.",
        "server/rest/payload.py",
        "elif field.cpp_type == FieldDescriptor.CPPTYPE_ENUM and not _is_of_enum(given, field):",
        "elif False:",
    ),
    Bug(
        "zone-of-any-hours",
        "REST takes a time for one of a zone that is 99 hours away.",
        "server/rest/payload.py",
        r"([01]\d|2[0-3]):[0-5]\d)",
        r"\d\d:[0-5]\d)",
    ),
    Bug(
        "token-and-a-wrong-clock",
        "A token that a wrong clock cannot check ends a call with UNKNOWN and the name of a class.",
        "server/tokens.py",
        "except PubSubError as error:",
        "except Unauthenticated as error:",
    ),
    Bug(
        "health-of-few-services",
        "A health check of the service of IAM policies ends with NOT_FOUND.",
        "server/serve.py",
        'for service in ("", *grpc_services.SERVICES):',
        'for service in ("", grpc_services.PUBLISHER, grpc_services.SUBSCRIBER):',
    ),
    Bug(
        "leases-shorter-than-deadlines",
        "With exactly-once delivery a lease ends before its client's deadline if a server dies.",
        "server/lease_lengths.py",
        "return max(LONGEST_LEASE, longest_deadline + beyond)",
        "return LONGEST_LEASE",
    ),
    Bug(
        "given-before-it-is-covered",
        "With exactly-once delivery what has waited is given for longer than its lease.",
        "server/leaser.py",
        "return all(lease.until >= covered for lease in leases)",
        "return True",
    ),
    Bug(
        "covered-too-late",
        "With exactly-once delivery clients wait for an extension that could come before.",
        "server/lease_lengths.py",
        "return max(_EXTENDED_AT, (length + longest_deadline) / 2 / length)",
        "return _EXTENDED_AT",
    ),
    Bug(
        "token-of-two-members",
        "Whoever has a token that a policy file has for two members is the later one.",
        "policy/access_files.py",
        "if each.member != tokens[earlier].member:",
        "if False:",
    ),
    Bug(
        "pushed-after-a-seek",
        "What a seek has voided is pushed, if its token was being signed.",
        "server/pushing.py",
        "is_held = delivery.is_outstanding and",
        "is_held =",
    ),
    Bug(
        "traceback-of-broken-tls",
        "Whoever breaks the TLS of a connection writes tracebacks into the log.",
        "server/rest/connection.py",
        "_BROKEN = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError)",
        "_BROKEN = (ConnectionError, asyncio.TimeoutError, asyncio.IncompleteReadError)",
    ),
    Bug(
        "slice-holds-up-calls",
        "While a table is written whose subscription has changed, no subscription is created.",
        "server/table_writing.py",
        "            running.end()\n",
        "            await running.stop()\n",
    ),
    Bug(
        "slice-after-its-end",
        "A writer that has waited for its turn writes a slice though it has ended.",
        "server/table_writing.py",
        "if self._ended.is_set():  # while",
        "if False:  # while",
    ),
    Bug(
        "token-that-nobody-can-send",
        "A server starts with a token that no header carries, and refuses every call.",
        "server/security.py",
        "return bool(token) and token.isascii() and token.isprintable()",
        "return bool(token) and token.isprintable()",
    ),
    Bug(
        "byte-order-mark-in-a-token",
        "A token of a text of Windows is told as one with wrong characters.",
        "cli/token_files.py",
        'decode("utf-8-sig")',
        'decode("utf-8")',
    ),
    Bug(
        "token-file-of-other-bytes",
        "A token file that is no text is an unexpected failure.",
        "cli/token_files.py",
        "except (OSError, ValueError) as error:",
        "except OSError as error:",
    ),
    Bug(
        "issuer-of-no-port",
        "An issuer is accepted whose port is no number, so that nobody finds its keys.",
        "server/push_tokens.py",
        "is_reachable = bool(parts.hostname) and parts.port != 0",
        "is_reachable = bool(parts.hostname)",
    ),
    Bug(
        "dead-letter-topic-told-as-topic",
        "An error of a dead-letter topic is told as one of the subscription's topic.",
        "server/wire.py",
        'full_name(policy.dead_letter_topic, "topic", "dead_letter_policy.dead_letter_topic")',
        'full_name(policy.dead_letter_topic, "topic")',
    ),
)
