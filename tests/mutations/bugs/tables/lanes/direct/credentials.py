"""Seeded bugs of ``tables/lanes/direct/credentials.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_lanes_choice.py",
    "tests/unit/test_storage_settings.py",
)

BUGS = (
    Bug(
        "keys-of-all-before-those-of-a-bucket",
        "The keys of a bucket are those of all buckets.",
        "    found |= {k.removeprefix(own): v for k, v in given.items() if k.startswith(own)}\n",
        "",
    ),
    Bug(
        "a-key-of-another-account",
        "Of several Azure accounts the key of the last one is taken.",
        'if account and whose not in ("", account):',
        'if account and whose not in ("", account) and not value:',
    ),
    Bug(
        "deltalake-is-asked-for-dynamodb",
        "An environment that expects commits by DynamoDB gets others without a word.",
        'if os.environ.get("AWS_S3_LOCKING_PROVIDER", "").lower() == "dynamodb":',
        'if os.environ.get("AWS_S3_LOCKING_PROVIDER", "") == "DynamoDB":',
    ),
    Bug(
        "a-google-account-is-not-translated",
        "The direct lane does not get the key file of a service account of Google.",
        'return {} if found is None else {"google_service_account": found}',
        "return {}",
    ),
    Bug(
        "a-tenant-is-a-whole-address",
        "The direct lane gets the address of Azure's tokens, and not the tenant in it.",
        "options[name] = tenant[1] if tenant else value",
        "options[name] = value",
    ),
    Bug(
        "empty-settings-of-a-storage",
        "A setting of the storage with an empty value overrides the environment.",
        "for key, value in hadoop.items() if value}",
        "for key, value in hadoop.items()}",
    ),
    Bug(
        "token-of-the-environment-with-keys-of-the-session",
        "A token of AWS in the environment is sent to the server of the session's keys.",
        "    _check_token_is_theirs(options)\n",
        "",
    ),
    Bug(
        "token-goes-with-no-keys-of-a-session",
        "Keys that a session has of the environment are refused as there is a token.",
        'has_token and os.environ.get("AWS_ACCESS_KEY_ID") != key:',
        "has_token:",
    ),
)
