"""A session's settings of a storage are those of the direct lane, and its environment Spark's."""

from __future__ import annotations

import pytest

from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.session import (
    DELTA_SETTINGS,
    LOCAL_SETTINGS,
    SPEED_SETTINGS,
    settings_of_new,
    storage_settings,
)
from pubsub_delta.tables.lanes.direct.credentials import storage_options

S3 = "s3a://till/pubsub"
AZURE = "abfss://pubsub@till.dfs.core.windows.net/pubsub"
GOOGLE = "gs://till/pubsub"
_KEYS = {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b"}
_OWN_KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_TENANT = "https://login.microsoftonline.com/a-tenant/oauth2/token"


@pytest.fixture(autouse=True)
def _no_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    monkeypatch.delenv("AWS_S3_LOCKING_PROVIDER", raising=False)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {"AWS_FORCE_CREDENTIAL_LOAD": "true"}),
        (_KEYS, _OWN_KEYS),
        ({f"spark.hadoop.{key}": value for key, value in _KEYS.items()}, _OWN_KEYS),
        ({**_KEYS, "fs.s3a.session.token": "c"}, {**_OWN_KEYS, "aws_session_token": "c"}),
        ({**_KEYS, "fs.s3a.session.token": ""}, _OWN_KEYS),
        ({**_KEYS, "fs.s3a.endpoint.region": "eu-1"}, {**_OWN_KEYS, "aws_region": "eu-1"}),
        ({**_KEYS, "fs.s3a.bucket.other.access.key": "c"}, _OWN_KEYS),
        (
            {**_KEYS, "fs.s3a.bucket.till.access.key": "c"},
            {**_OWN_KEYS, "aws_access_key_id": "c"},
        ),
        (
            {**_KEYS, "fs.s3a.requester.pays.enabled": "True"},
            {**_OWN_KEYS, "aws_request_payer": "true"},
        ),
        ({**_KEYS, "fs.s3a.requester.pays.enabled": "false"}, _OWN_KEYS),
        (
            {
                **_KEYS,
                "fs.s3a.encryption.algorithm": "SSE-KMS",
                "fs.s3a.encryption.key": "arn:aws:kms:eu-1:1:key/2",
            },
            {
                **_OWN_KEYS,
                "aws_server_side_encryption": "aws:kms",
                "aws_sse_kms_key_id": "arn:aws:kms:eu-1:1:key/2",
            },
        ),
        (
            {"fs.s3a.aws.credentials.provider": f"org.apache.hadoop.fs.s3a.{_ANONYMOUS}"},
            {"aws_skip_signature": "true"},
        ),
        (
            {**_KEYS, "fs.s3a.endpoint": "s3.shop.com"},
            {**_OWN_KEYS, "aws_endpoint": "https://s3.shop.com"},
        ),
        (
            {**_KEYS, "fs.s3a.endpoint": "host:90", "fs.s3a.connection.ssl.enabled": "false"},
            {**_OWN_KEYS, "aws_endpoint": "http://host:90", "aws_allow_http": "true"},
        ),
        (
            {**_KEYS, "fs.s3a.connection.ssl.enabled": "false"},
            {**_OWN_KEYS, "aws_allow_http": "true"},
        ),
        (
            {**_KEYS, "fs.s3a.endpoint": "http://h:9", "fs.s3a.path.style.access": "true"},
            {
                **_OWN_KEYS,
                "aws_virtual_hosted_style_request": "false",
                "aws_endpoint": "http://h:9",
                "aws_allow_http": "true",
            },
        ),
        (
            {**_KEYS, "fs.s3a.endpoint": "https://h", "fs.s3a.path.style.access": "false"},
            {
                **_OWN_KEYS,
                "aws_virtual_hosted_style_request": "true",
                "aws_endpoint": "https://till.h",
            },
        ),
    ],
)
def test_those_of_s3(settings: dict[str, str], options: dict[str, str]) -> None:
    """ "The settings of a bucket … override general ones"; a commit is a conditional put."""
    for root in (S3, S3.replace("s3a", "s3")):
        assert storage_options(settings, root) == {"aws_conditional_put": "etag", **options}


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        ({"fs.azure.account.key": "a"}, {"azure_storage_account_key": "a"}),
        (
            {
                "fs.azure.account.key": "a",
                "fs.azure.account.key.till.dfs.core.windows.net": "b",
                "fs.azure.account.key.other.dfs.core.windows.net": "c",
            },
            {"azure_storage_account_key": "b", "azure_storage_account_name": "till"},
        ),
        (
            {"fs.azure.sas.fixed.token.till.dfs.core.windows.net": "a"},
            {"azure_storage_sas_key": "a", "azure_storage_account_name": "till"},
        ),
        ({"fs.azure.sas.fixed.token.other.dfs.core.windows.net": "a"}, {}),
        (
            {
                "fs.azure.account.oauth2.client.id": "a",
                "fs.azure.account.oauth2.client.secret": "b",
                "fs.azure.account.oauth2.client.endpoint": _TENANT,
            },
            {
                "azure_storage_client_id": "a",
                "azure_storage_client_secret": "b",
                "azure_storage_tenant_id": "a-tenant",
            },
        ),
        (
            {
                "fs.azure.account.oauth2.token.file": "/var/token",
                "fs.azure.account.oauth2.client.endpoint": "a-tenant",
            },
            {
                "azure_federated_token_file": "/var/token",
                "azure_storage_tenant_id": "a-tenant",
            },
        ),
    ],
)
def test_those_of_azure(settings: dict[str, str], options: dict[str, str]) -> None:
    """ "The settings … of an account override general ones", and those of others say nothing."""
    assert storage_options({**settings, **_KEYS}, AZURE) == options


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        (_KEYS, {}),
        *(
            ({key: "/var/key.json"}, {"google_service_account": "/var/key.json"})
            for key in (
                "fs.gs.auth.service.account.json.keyfile",
                "google.cloud.auth.service.account.json.keyfile",
                "spark.hadoop.fs.gs.auth.service.account.json.keyfile",
            )
        ),
    ],
)
def test_those_of_google(settings: dict[str, str], options: dict[str, str]) -> None:
    """The environment (``GOOGLE_…``) has what the settings do not tell."""
    for root in (GOOGLE, GOOGLE.replace("gs", "gcs")):
        assert storage_options(settings, root) == options


_ACCOUNT = {"AZURE_STORAGE_ACCOUNT_NAME": "till", "AZURE_STORAGE_ACCOUNT_KEY": "a"}


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ({}, {}),
        ({"AWS_ENDPOINT_URL": "", "AWS_REGION": ""}, {}),
        (
            {"AWS_ENDPOINT_URL": "http://h"},
            {"fs.s3a.endpoint": "http://h", "fs.s3a.path.style.access": "true"},
        ),
        (
            {"AWS_ENDPOINT_URL": "http://h", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "True"},
            {"fs.s3a.endpoint": "http://h", "fs.s3a.path.style.access": "false"},
        ),
        ({"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"}, {}),
        ({"AWS_REGION": "eu-1"}, {"fs.s3a.endpoint.region": "eu-1"}),
        ({"AWS_DEFAULT_REGION": "eu-2"}, {"fs.s3a.endpoint.region": "eu-2"}),
        (
            {"AWS_REGION": "eu-1", "AWS_DEFAULT_REGION": "eu-2"},
            {"fs.s3a.endpoint.region": "eu-1"},
        ),
        ({"AWS_REQUEST_PAYER": "TRUE"}, {"fs.s3a.requester.pays.enabled": "true"}),
        ({"AWS_REQUEST_PAYER": "requester"}, {}),
        (_ACCOUNT, {"fs.azure.account.key.till.dfs.core.windows.net": "a"}),
        ({"AZURE_STORAGE_ACCOUNT_NAME": "till"}, {}),
        ({"AZURE_STORAGE_ACCOUNT_KEY": "a"}, {}),
        ({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, {}),
    ],
)
def test_those_of_the_environment_are_for_a_session_as_well(
    environment: dict[str, str], settings: dict[str, str]
) -> None:
    """Keys of S3 are not among them: Hadoop takes these from the environment by itself."""
    expected = {f"spark.hadoop.{name}": value for name, value in settings.items()}
    assert storage_settings(environment) == expected


def test_settings_that_are_given_replace_those_of_the_environment_and_of_the_library() -> None:
    name, own = "spark.hadoop.fs.s3a.endpoint.region", next(iter(SPEED_SETTINGS))
    environment = {"AWS_REGION": "eu-1"}
    found = settings_of_new({}, environment)
    assert found[name] == "eu-1"
    assert found.items() >= {**DELTA_SETTINGS, **SPEED_SETTINGS, **LOCAL_SETTINGS}.items()
    found = settings_of_new({name: "eu-2", own: "mine"}, environment)
    assert (found[name], found[own]) == ("eu-2", "mine")
    submitted = settings_of_new({}, {**environment, "PYSPARK_GATEWAY_PORT": "1"})
    assert submitted == {name: "eu-1", **DELTA_SETTINGS}


@pytest.mark.parametrize("of_environment", [None, "other"])
def test_the_environments_token_goes_with_no_other_keys(
    monkeypatch: pytest.MonkeyPatch, of_environment: str | None
) -> None:
    """It would be sent to the session's server, which may be anybody's, and refuses the keys."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    if of_environment is not None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", of_environment)
    with pytest.raises(
        FailedPrecondition, match=r"^AWS_SESSION_TOKEN .*; unset it, or set fs\.s3a"
    ):
        storage_options(_KEYS, S3)
    assert storage_options({**_KEYS, "fs.s3a.session.token": "c"}, S3)["aws_session_token"] == "c"
    assert "aws_session_token" not in storage_options({}, S3)


def test_keys_that_a_session_has_of_the_environment_keep_its_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert storage_options(_KEYS, S3)["aws_access_key_id"] == "a"
