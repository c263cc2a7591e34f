"""Where messages may be pushed to, and that it is stored and read back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pubsub_delta import InvalidArgument, NoWrapper, OidcToken, PushConfig
from pubsub_delta.policy.push_configs import check_push_config
from pubsub_delta.tables.registry.rows import columns_of, columns_of_fields, subscription_of
from pubsub_delta.tables.schemas import SUBSCRIPTIONS
from tests.unit.builders import PLAIN
from tests.unit.in_memory import NAME, InMemory

URL = "https://example.com/push"
V1 = {"x-goog-version": "v1"}


def checked(config: Any) -> PushConfig | None:
    return check_push_config(config, enable_exactly_once_delivery=False)


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "http://localhost:8080",
        "http://127.0.0.1/",
        "https://[::1]:8443/a/b?token=c&d=%20",
        "https://example.com/@me?by=ann@example.com",
        "HTTPS://EXAMPLE.com",
        "http://" + "h" * (2048 - len("http://")),
    ],
)
def test_an_endpoint_is_an_absolute_http_url(url: str) -> None:
    assert checked(PushConfig(url)) == PushConfig(url, V1)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("", "neither http:// nor https://"),
        ("example.com/push", "neither http:// nor https://"),
        ("/push", "neither http:// nor https://"),
        ("ftp://example.com", "neither http:// nor https://"),
        ("http://", "no host"),
        ("http:///push", "no host"),
        ("http://:80/", "no host"),
        ("http://example.com:0/", "no host and port"),
        ("http://example.com:65536/", "Port out of range"),
        ("http://example.com:port/", "Port"),
        ("http://[::1", "Invalid IPv6"),
        ("http://user@example.com/", "a user name"),
        ("http://user:password@example.com/", "a user name"),
        ("http://example.com/#part", "a fragment"),
        ("http://example.com/#", "a fragment"),
        ("http://exämple.com/", "characters that a URL cannot have"),
        ("http://example.com/a b", "characters that a URL cannot have"),
        ("http://example.com/\r\nHost: other", "characters that a URL cannot have"),
        ("http://example.com\\@other.com", "characters that a URL cannot have"),
        ("http://" + "h" * 2042, "has 2049 characters"),
        (7, "not a string"),
        (None, "not a string"),
    ],
)
def test_other_endpoints_are_refused(url: Any, fault: str) -> None:
    # "Every error says what was wrong, the offending value, and what would be accepted."
    with pytest.raises(InvalidArgument, match="https:// URL is accepted") as told:
        checked(PushConfig(url))
    assert fault in str(told.value)
    assert repr(url) in str(told.value)


@pytest.mark.parametrize("attributes", [{}, V1])
def test_the_format_is_v1_and_is_always_told(attributes: dict[str, str]) -> None:
    # "GetSubscription calls will always return a valid version"
    assert checked(PushConfig(URL, attributes)) == PushConfig(URL, V1)


@pytest.mark.parametrize(
    "attributes",
    [{"x-goog-version": "v1beta1"}, {"other": "v1"}, {**V1, "other": ""}, {1: []}, [("a", "b")], 7],
)
def test_other_attributes_are_refused(attributes: Any) -> None:
    with pytest.raises(InvalidArgument, match="'x-goog-version': 'v1' is accepted"):
        checked(PushConfig(URL, attributes))


@pytest.mark.parametrize("config", [URL, {"push_endpoint": URL}, 7])
def test_a_configuration_is_a_push_config(config: Any) -> None:
    with pytest.raises(InvalidArgument, match="is not a PushConfig"):
        checked(config)


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ({"service_account_email": "a@b.c"}, "is not an OidcToken"),
        (OidcToken(""), "service_account_email: '' is not an address"),
        (OidcToken("push"), "'push' is not an address"),
        (OidcToken("push@b c"), "is not an address"),
        (OidcToken("é@b.c"), "is not an address"),
        (OidcToken(f"{'a' * 250}@b.cd"), "is not an address"),
        (OidcToken("a@b.c", "a\nb"), "audience: .* has control characters"),
        (OidcToken("a@b.c", "a" * 2049), "at most 2,048 characters"),
        (OidcToken("a@b.c", None), "audience: None"),  # type: ignore[arg-type]
    ],
)
def test_a_token_is_of_an_address(token: Any, told: str) -> None:
    config = PushConfig(URL, oidc_token=token)
    with pytest.raises(InvalidArgument, match=rf"push_config\.oidc_token.*{told}"):
        check_push_config(config, enable_exactly_once_delivery=False)


def test_an_address_and_an_audience_may_be_as_long_as_is_told() -> None:
    """RFC 5321: an address has up to 254 characters; an error names 2,048 of an audience."""
    token = OidcToken(f"{'a' * 250}@b.c", "a" * 2048)
    check_push_config(PushConfig(URL, oidc_token=token), enable_exactly_once_delivery=False)


@pytest.mark.parametrize("bare", [True, {"write_metadata": True}, NoWrapper(1)])  # type: ignore[arg-type]
def test_a_missing_wrapper_is_a_no_wrapper(bare: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"push_config\.no_wrapper"):
        checked(PushConfig(URL, no_wrapper=bare))


def test_push_and_exactly_once_delivery_exclude_each_other() -> None:
    # "Push and export subscriptions don't support exactly-once delivery."
    told = "push_endpoint: 'https://example.com/push' together with enable_exactly_once_delivery"
    with pytest.raises(InvalidArgument, match=told):
        InMemory(push_config=PushConfig(URL), enable_exactly_once_delivery=True)
    pushes = InMemory(push_config=PushConfig(URL)).store
    with pytest.raises(InvalidArgument, match=told):
        pushes.update_subscription(NAME, enable_exactly_once_delivery=True)
    once = InMemory(enable_exactly_once_delivery=True).store
    with pytest.raises(InvalidArgument, match=told):
        once.update_subscription(NAME, push_config=PushConfig(URL))
    fields: dict[str, Any] = {
        "push_config": PushConfig(URL),
        "enable_exactly_once_delivery": False,
    }
    assert once.update_subscription(NAME, **fields).push_config == PushConfig(URL, V1)


def test_the_field_is_set_shown_and_cleared() -> None:
    store = InMemory().store
    assert store.get_subscription(NAME).push_config is None
    bare = PushConfig(URL, no_wrapper=NoWrapper(write_metadata=True))
    assert store.update_subscription(NAME, push_config=bare).push_config == replace(
        bare, attributes=V1
    )
    assert store.update_subscription(NAME, labels={"a": "b"}).push_config is not None
    assert store.update_subscription(NAME, push_config=None).push_config is None


def test_the_library_pulls_from_a_subscription_that_pushes() -> None:
    memory = InMemory(push_config=PushConfig(URL))
    memory.publish("a")
    assert [each.data for each in memory.pull()] == ["a"]


@pytest.mark.parametrize(
    "config",
    [
        None,
        PushConfig(URL, V1),
        PushConfig(URL, V1, NoWrapper()),
        PushConfig(URL, V1, NoWrapper(write_metadata=True)),
        PushConfig(URL, V1, None, OidcToken("a@b.c")),
        PushConfig(URL, V1, NoWrapper(), OidcToken("a@b.c", "receivers")),
    ],
)
def test_what_is_stored_is_read_back(config: PushConfig | None) -> None:
    row = columns_of(replace(PLAIN, push_config=config))
    others = {"topic_uid", "etag", "iam_policy"}
    assert set(row) | others == set(SUBSCRIPTIONS.columns.names)
    assert subscription_of(row).push_config == config
    assert set(columns_of_fields({"push_config": config})) == {
        "push_endpoint",
        "push_write_metadata",
        "push_service_account",
        "push_audience",
    }
