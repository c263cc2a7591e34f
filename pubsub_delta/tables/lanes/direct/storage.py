"""Where ``deltalake`` finds tables, and with which credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.tables.layout import on_disk, path_of

_UNREACHABLE = re.compile(r"%[0-9A-Fa-f]{2}|[\[\]^|\\#?\x00-\x1f\x7f]")
"""What ``deltalake`` takes for something else in a path, if only for a history, or panics over."""

_S3 = {
    "access.key": "aws_access_key_id",
    "secret.key": "aws_secret_access_key",
    "session.token": "aws_session_token",
    "endpoint.region": "aws_region",
}
_GOOGLE_KEY = ("fs.gs.auth.service.account.json.keyfile",
               "google.cloud.auth.service.account.json.keyfile")  # fmt: skip
_AZURE = {
    "fs.azure.account.key": "azure_storage_account_key",
    "fs.azure.sas.fixed.token": "azure_storage_sas_key",
    "fs.azure.account.oauth2.client.id": "azure_storage_client_id",
    "fs.azure.account.oauth2.client.secret": "azure_storage_client_secret",
    "fs.azure.account.oauth2.client.endpoint": "azure_storage_tenant_id",
}
_TENANT = re.compile(r"https?://[^/]+/([^/]+)/oauth2/.*")


_SCHEMES = frozenset({"file", "s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl"})
"""Of storages that ``deltalake`` commits to atomically; Spark works on others."""


def reaches(path: str) -> bool:
    """Tell whether ``deltalake`` takes a path or URL as it is written.

    >>> reaches("/data/pubsub"), reaches("/data/100%25"), reaches("dbfs:/pubsub")
    (True, False, False)
    """
    scheme = path.split(":", 1)[0] if on_disk(path) is None else "file"
    return scheme in _SCHEMES and _UNREACHABLE.search(path) is None


def address_of(table: str) -> str:
    """Return the path or URL by which ``deltalake`` opens a table; FailedPrecondition if none."""
    path = path_of(table)
    if path is None:
        raise FailedPrecondition(f"{table}: tables of a catalog are for Spark: pass a session")
    if not reaches(path):
        raise FailedPrecondition(
            f"{table}: deltalake cannot open this path: one without control characters, "
            r"percent-encoded letters and any of [ ] ^ | \ # ? is accepted, or Spark's lane"
        )
    local = on_disk(path)
    return path if local is None else local


def is_local(table: str) -> bool:
    """Tell whether a table is on a disk of this machine."""
    return "://" not in address_of(table)


def storage_options(hadoop: Mapping[str, str]) -> dict[str, str]:
    """Translate Hadoop's settings of an object store into those of ``deltalake``.

    Hadoop's keys are those of a session without ``spark.hadoop.``, or with it. What is not set is
    left to the environment (``AWS_…``, ``AZURE_…``, ``GOOGLE_…``). On S3 a commit is a conditional
    put, so that none overwrites another one.

    >>> options = storage_options({"fs.s3a.endpoint": "http://localhost:9000"})
    >>> options["aws_endpoint"], options["aws_allow_http"]
    ('http://localhost:9000', 'true')
    """
    given = {key.removeprefix("spark.hadoop."): value for key, value in hadoop.items() if value}
    return {"aws_conditional_put": "etag", **_of_s3(given), **_of_azure(given), **_of_google(given)}


def _of_s3(given: Mapping[str, str]) -> dict[str, str]:
    options = {
        name: given[f"fs.s3a.{key}"] for key, name in _S3.items() if f"fs.s3a.{key}" in given
    }
    endpoint = given.get("fs.s3a.endpoint")
    plain = given.get("fs.s3a.connection.ssl.enabled", "true").lower() == "false"
    if endpoint is not None:
        scheme = "http" if plain else "https"
        endpoint = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        options["aws_endpoint"] = endpoint
        plain = endpoint.startswith("http://")
    if plain:
        options["aws_allow_http"] = "true"
    by_path = given.get("fs.s3a.path.style.access")
    if by_path is not None:
        by_host = by_path.lower() != "true"
        options["aws_virtual_hosted_style_request"] = str(by_host).lower()
    return options


def _of_azure(given: Mapping[str, str]) -> dict[str, str]:
    options = {}
    for key, value in given.items():
        for prefix, name in _AZURE.items():
            if key != prefix and not key.startswith(f"{prefix}."):
                continue
            tenant = _TENANT.fullmatch(value) if name.endswith("tenant_id") else None
            options[name] = tenant[1] if tenant else value
            account = key.removeprefix(prefix).lstrip(".").split(".")[0]
            if account:
                options["azure_storage_account_name"] = account
    return options


def _of_google(given: Mapping[str, str]) -> dict[str, str]:
    found = next((given[key] for key in _GOOGLE_KEY if key in given), None)
    return {} if found is None else {"google_service_account": found}
