"""Seeded bugs of ``server/wire.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_odd_calls.py",
    "tests/unit/test_server_targets.py",
    "tests/unit/test_fine_times.py",
    "tests/unit/test_server_wire.py",
    "tests/unit/test_server_wire_outputs.py",
    "tests/unit/test_server_push_calls.py",
    "tests/unit/test_server_partial_updates.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "nanoseconds-of-the-wire-ignored",
        "The server leaves out the nanoseconds of a time.",
        "return from_nanos(timestamp.seconds * 10**9 + timestamp.nanos, until=until)",
        "return from_nanos(timestamp.seconds * 10**9 + timestamp.nanos // 1000 * 1000)",
    ),
    Bug(
        "wire-duration-in-microseconds",
        "The fraction of a duration is sent in microseconds, and is read as nanoseconds.",
        "nanos=rest // timedelta(microseconds=1) * 1000)",
        "nanos=rest // timedelta(microseconds=1))",
    ),
    Bug(
        "wire-expire-time-in-microseconds",
        "The fraction of an expire_time is sent in microseconds.",
        "return Timestamp(seconds=seconds, nanos=micros * 1000)",
        "return Timestamp(seconds=seconds, nanos=micros)",
    ),
    Bug(
        "wire-publish-time-in-microseconds",
        "The fraction of a publish time is sent in microseconds.",
        "    message.publish_time.nanos = rest * 1000\n",
        "    message.publish_time.nanos = rest\n",
    ),
    Bug(
        "wire-duration-read-in-microseconds",
        "The nanoseconds of a duration are read as microseconds.",
        "Fraction(duration.nanos, 10**9)",
        "Fraction(duration.nanos, 10**6)",
    ),
    Bug(
        "wire-time-without-nanoseconds",
        "Of the time of a seek only the seconds count.",
        "from_nanos(timestamp.seconds * 10**9 + timestamp.nanos, until=until)",
        "from_nanos(timestamp.seconds * 10**9, until=until)",
    ),
    Bug(
        "wire-attempts-by-default",
        "A dead-letter policy without a number of attempts permits 100.",
        "policy.max_delivery_attempts or 5)",
        "policy.max_delivery_attempts or 100)",
    ),
    Bug(
        "account-told-as-audience",
        "The audience of push tokens is told as their account.",
        "        message.oidc_token.audience = config.oidc_token.audience\n",
        "        message.oidc_token.audience = config.oidc_token.service_account_email\n",
    ),
    Bug(
        "push-config-without-an-endpoint",
        "A push config with a token and no endpoint makes a pull subscription without a word.",
        '    if "push_config" in names:\n        check_push',
        "    if False:\n        check_push",
    ),
    Bug(
        "table-config-without-a-table",
        "A table config without a table makes a pull subscription without a word.",
        "and said is not None and not config.table:",
        "and said is None and not config.table:",
    ),
    Bug(
        "backoff-of-zero-is-the-default",
        "A backoff of zero seconds is taken for one that the request leaves out.",
        "if policy.HasField(name)\n    }\n    return RetryPolicy",
        "if seconds_of(getattr(policy, name))\n    }\n    return RetryPolicy",
    ),
    Bug(
        "ttl-of-zero-is-for-ever",
        "A ttl of zero is not refused: the subscription never expires.",
        'ExpirationPolicy(seconds_of(policy.ttl) if policy.HasField("ttl") else None)',
        "ExpirationPolicy(seconds_of(policy.ttl) or None)",
    ),
    Bug(
        "keys-not-supported",
        "A refused KMS key does not say why it would do nothing.",
        '"kms_key_name": "messages',
        '"kms_key": "messages',
    ),
    Bug(
        "a-snapshot-a-microsecond-shorter",
        "A snapshot expires before the time that a client asked for in nanoseconds.",
        '"expire_time": lambda resource: time_of(resource.expire_time)',
        '"expire_time": lambda resource: time_of(resource.expire_time, until=True)',
    ),
    Bug(
        "a-detached-subscription-looks-attached",
        "A server tells no client that a subscription is detached.",
        """        detached=subscription.detached,
""",
        "",
    ),
    Bug(
        "topic-retention-is-not-told",
        "A server tells no client what the topic of a subscription retains.",
        "_duration(subscription.topic_message_retention_duration)",
        "None",
    ),
    Bug(
        "a-refused-table-looks-active",
        "A server tells that a subscription is active whose table cannot be written.",
        "state=_RESOURCE_ERROR if table is not None and table.is_refused else _ACTIVE",
        "state=_ACTIVE",
    ),
    Bug(
        "a-first-attempt-without-a-policy",
        "A delivery without a dead-letter policy has an attempt on the wire.",
        "delivery_attempt=received.delivery_attempt or 0",
        "delivery_attempt=received.delivery_attempt or 1",
    ),
    Bug(
        "dead-letter-topic-told-as-topic",
        "An error of a dead-letter topic is told as one of the subscription's topic.",
        'full_name(policy.dead_letter_topic, "topic", "dead_letter_policy.dead_letter_topic")',
        'full_name(policy.dead_letter_topic, "topic")',
    ),
    Bug(
        "duration-beyond-time-is-an-error-of-ours",
        "A request with 2^62 seconds is told as INTERNAL.",
        "        return exactly(duration.seconds + Fraction(duration.nanos, 10**9))\n"
        "    except OverflowError:",
        "        return exactly(duration.seconds + Fraction(duration.nanos, 10**9))\n"
        "    except ZeroDivisionError:",
    ),
)
