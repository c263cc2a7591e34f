"""Bugs of what an operator meets: roots, tables that are changed by hand, jobs that are killed."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_OPERATOR = (
    Bug(
        "host-of-a-file-url-is-no-part-of-its-path",
        "A store at file://data/pubsub is made at /pubsub, where nobody looks for it.",
        "tables/layout.py",
        '    if host and host != "localhost":',
        "    if host and host.isdigit():",
    ),
    Bug(
        "bucket-may-be-missing",
        "Who writes s3a:/bucket/pubsub sees an error of deltalake's.",
        "tables/layout.py",
        "    if _BUCKET_URL.match(url):",
        "    if _BUCKET_URL.fullmatch(url):",
    ),
    Bug(
        "root-of-a-file-url-has-no-tables-below-it",
        "A job that names the root by its URL finds no table that is named by its path.",
        "tables/targets.py",
        "            self.root: str | None = on_disk(given.base) or given.base",
        "            self.root: str | None = given.base",
    ),
    Bug(
        "store-of-a-file-url-has-no-tables-below-it",
        "A store that is opened by its URL refuses the tables below it, and may write to its own.",
        "tables/targets.py",
        "None if layout.in_catalog else on_disk(layout.base) or layout.base",
        "None if layout.in_catalog else layout.base",
    ),
    Bug(
        "path-that-leads-nowhere-is-no-error-of-ours",
        "A root with too long a name, or a link to itself, ends in an OSError.",
        "tables/lanes/storage_errors.py",
        "    if no_path is not None:",
        "    if no_path is not None and number is None:",
    ),
    Bug(
        "azure-without-an-account-is-no-error-of-ours",
        "Who names no storage account of Azure sees coloured text of deltalake's.",
        "tables/lanes/direct/errors.py",
        "    if _NO_ACCOUNT in text:",
        "    if _NO_ACCOUNT in table:",
    ),
    Bug(
        "killed-expiration-is-for-ever",
        "A subscription stays invisible whose job was killed as it expired.",
        "operations/maintain.py",
        "(*begun, *((each, None) for each, _ in registry.sources()))",
        "(*begun[:0], *((each, None) for each, _ in registry.sources()))",
    ),
    Bug(
        "killed-expiration-expires-at-once",
        "A subscription that was in use when a job was killed is deleted by the next run.",
        "delivery/expiration.py",
        'return _end(tables, subscription, since, {"update_time": now})',
        "return _end(tables, subscription, since, {})",
    ),
    Bug(
        "killed-expiration-goes-by-now",
        "A subscription that was in use when a job was killed is deleted for its rest since.",
        "delivery/expiration.py",
        'return _end(tables, subscription, since, {"update_time": now})',
        'return _end(tables, subscription, now, {"update_time": now})',
    ),
    Bug(
        "expiring-is-visible",
        "A subscription that a job is deleting is in listings, and can be used.",
        "tables/registry/expirations.py",
        "    return expiring_since(row) is None",
        "    return True",
    ),
    Bug(
        "expiring-is-deleted-though-it-was-changed",
        "An update at the last moment is lost with its subscription.",
        "tables/registry/expirations.py",
        "return self._subscriptions.remove(uid, _is_expiring)",
        "return self._subscriptions.remove(uid)",
    ),
    Bug(
        "token-of-the-environment-with-keys-of-the-session",
        "A token of AWS in the environment is sent to the server of the session's keys.",
        "tables/lanes/direct/credentials.py",
        "    _check_token_is_theirs(options)\n",
        "",
    ),
    Bug(
        "token-goes-with-no-keys-of-a-session",
        "Keys that a session has of the environment are refused as there is a token.",
        "tables/lanes/direct/credentials.py",
        'has_token and os.environ.get("AWS_ACCESS_KEY_ID") != key:',
        "has_token:",
    ),
    Bug(
        "scrape-fails-with-its-clock",
        "A measurement that fails by its clock is not counted, and the metrics are told as up.",
        "exporter.py",
        "        try:\n            began = self._now()\n            rows",
        "        began = self._now()\n        try:\n            rows",
    ),
    Bug(
        "age-by-a-clock-that-can-be-set",
        "Metrics are young for an hour when the clock is set back by an hour.",
        "exporter.py",
        "                self._uptime() - measurement.uptime,",
        "                max(0.0, (self._now() - measurement.time).total_seconds()),",
    ),
)
