"""Translates Hadoop's settings of a storage to the options of ``deltalake``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from pubsub_delta.errors import FailedPrecondition

_S3 = {
    "access.key": "aws_access_key_id",
    "secret.key": "aws_secret_access_key",
    "session.token": "aws_session_token",
    "endpoint.region": "aws_region",
    "encryption.key": "aws_sse_kms_key_id",
}
_FLAGS_OF_S3 = {"requester.pays.enabled": "aws_request_payer"}
_ENCRYPTION = {"AES256": "AES256", "SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse"}
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_GOOGLE_KEY = ("fs.gs.auth.service.account.json.keyfile",
               "google.cloud.auth.service.account.json.keyfile")  # fmt: skip
_AZURE = {
    "fs.azure.account.key": "azure_storage_account_key",
    "fs.azure.sas.fixed.token": "azure_storage_sas_key",
    "fs.azure.account.oauth2.client.id": "azure_storage_client_id",
    "fs.azure.account.oauth2.client.secret": "azure_storage_client_secret",
    "fs.azure.account.oauth2.client.endpoint": "azure_storage_tenant_id",
    "fs.azure.account.oauth2.token.file": "azure_federated_token_file",
}
_TENANT = re.compile(r"https?://[^/]+/([^/]+)/oauth2/.*")


def storage_options(hadoop: Mapping[str, str], root: str) -> dict[str, str]:
    """Translate Hadoop's settings of a root's object store into those of ``deltalake``.

    Hadoop's keys are those of a session without ``spark.hadoop.``, or with it; the settings of a
    bucket (``fs.s3a.bucket.NAME.…``) or of an account override general ones. The environment
    (``AWS_…``, ``AZURE_…``, ``GOOGLE_…``) has the others. On S3 a commit is a conditional put, so
    that no commit overwrites another one.

    >>> options = storage_options({"fs.s3a.endpoint": "http://localhost:9000"}, "s3a://b/pubsub")
    >>> options["aws_endpoint"], options["aws_allow_http"]
    ('http://localhost:9000', 'true')
    """
    given = {key.removeprefix("spark.hadoop."): value for key, value in hadoop.items() if value}
    scheme, place = urlsplit(root)[:2]
    if scheme in ("s3", "s3a"):
        return _of_s3(given, place)
    if scheme in ("gs", "gcs"):
        return _of_google(given)
    return _of_azure(given, place.rpartition("@")[2].partition(".")[0] if "@" in place else "")


def _of_s3(given: Mapping[str, str], bucket: str) -> dict[str, str]:
    """Translate the settings of a bucket.

    >>> of_all = {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b"}
    >>> _of_s3({**of_all, "fs.s3a.bucket.till.access.key": "c"}, "till")["aws_access_key_id"]
    'c'
    >>> by_host = {"fs.s3a.endpoint": "s3.shop.com", "fs.s3a.path.style.access": "false"}
    >>> _of_s3(by_host, "till")["aws_endpoint"]
    'https://till.s3.shop.com'
    """
    if os.environ.get("AWS_S3_LOCKING_PROVIDER", "").lower() == "dynamodb":
        raise FailedPrecondition(
            "AWS_S3_LOCKING_PROVIDER is dynamodb, and deltalake does not ask DynamoDB any more: it "
            "commits by conditional puts, which programs that ask DynamoDB may overwrite; unset it "
            "where all programs take the direct lane, or let all take Spark's (lane='spark')"
        )
    own = f"fs.s3a.bucket.{bucket}."
    found = {k.removeprefix("fs.s3a."): v for k, v in given.items() if k.startswith("fs.s3a.")}
    found |= {k.removeprefix(own): v for k, v in given.items() if k.startswith(own)}
    options = {name: found[key] for key, name in _S3.items() if key in found}
    options |= {
        name: "true" for key, name in _FLAGS_OF_S3.items() if found.get(key, "").lower() == "true"
    }
    _check_token_is_theirs(options)
    algorithm = found.get("encryption.algorithm", "")
    if algorithm in _ENCRYPTION:
        options["aws_server_side_encryption"] = _ENCRYPTION[algorithm]
    if found.get("aws.credentials.provider", "").endswith(_ANONYMOUS):
        options["aws_skip_signature"] = "true"
    elif "aws_access_key_id" not in options and "AWS_ACCESS_KEY_ID" not in os.environ:
        # Else deltalake does not look for a profile, a web identity or the machine's role where an
        # endpoint is named.
        options["AWS_FORCE_CREDENTIAL_LOAD"] = "true"
    return {"aws_conditional_put": "etag", **options, **_endpoint(found, bucket)}


def _check_token_is_theirs(options: Mapping[str, str]) -> None:
    """Raise FailedPrecondition if the environment's token would go with a session's keys.

    ``deltalake`` takes each option that it is not given from the environment. So a server that has
    nothing to do with it would be sent the token, and refuse the keys with it.
    """
    key = options.get("aws_access_key_id")
    has_token = "aws_session_token" not in options and os.environ.get("AWS_SESSION_TOKEN")
    if key is not None and has_token and os.environ.get("AWS_ACCESS_KEY_ID") != key:
        raise FailedPrecondition(
            "AWS_SESSION_TOKEN of the environment belongs to other keys than the session's "
            "spark.hadoop.fs.s3a.access.key, and deltalake would send it with them; unset it, or "
            "set fs.s3a.session.token, too"
        )


def _endpoint(found: Mapping[str, str], bucket: str) -> dict[str, str]:
    options = {}
    endpoint = found.get("endpoint")
    plain = found.get("connection.ssl.enabled", "true").lower() == "false"
    by_path = found.get("path.style.access")
    if by_path is not None:
        by_host = by_path.lower() != "true"
        options["aws_virtual_hosted_style_request"] = str(by_host).lower()
    if endpoint is not None:
        scheme, _, host = endpoint.rpartition("://")
        scheme = scheme or ("http" if plain else "https")
        plain = scheme == "http"
        if options.get("aws_virtual_hosted_style_request") == "true":
            host = f"{bucket}.{host}"  # deltalake does not put it there
        options["aws_endpoint"] = f"{scheme}://{host}"
    if plain:
        options["aws_allow_http"] = "true"
    return options


def _of_azure(given: Mapping[str, str], account: str) -> dict[str, str]:
    """Translate the settings of an account, or of the only one if the root names none.

    >>> keys = {"fs.azure.account.key.till.dfs.core.windows.net": "a"}
    >>> keys["fs.azure.account.key.other.dfs.core.windows.net"] = "b"
    >>> _of_azure(keys, "till")["azure_storage_account_key"]
    'a'
    """
    options = {}
    for prefix, name in _AZURE.items():
        of_all = {key: value for key, value in given.items() if key == prefix}
        of_accounts = {key: value for key, value in given.items() if key.startswith(f"{prefix}.")}
        for key, value in (of_all | of_accounts).items():
            whose = key.removeprefix(prefix).lstrip(".").split(".")[0]
            if account and whose not in ("", account):
                continue
            tenant = _TENANT.fullmatch(value) if name.endswith("tenant_id") else None
            options[name] = tenant[1] if tenant else value
            if whose:
                options["azure_storage_account_name"] = whose
    return options


def _of_google(given: Mapping[str, str]) -> dict[str, str]:
    found = next((given[key] for key in _GOOGLE_KEY if key in given), None)
    return {} if found is None else {"google_service_account": found}
