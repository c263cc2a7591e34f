"""The accepted push configurations of a subscription (Pub/Sub: PushConfig)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.arguments import check_switch, is_given
from pubsub_delta.resources import NoWrapper, OidcToken, PushConfig

MAX_ENDPOINT_CHARACTERS = 2048
_EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+")
_LONGEST_EMAIL = 254
_LONGEST_AUDIENCE = 2048
PUSH_ATTRIBUTES = {"x-goog-version": "v1"}
"""The format of push requests: the only one, so every stored configuration has it."""


def check_push_config(
    config: PushConfig | None, *, enable_exactly_once_delivery: bool
) -> PushConfig | None:
    """Return a checked push configuration, with the format of the requests in its attributes.

    The endpoint is an absolute http or https URL of at most 2,048 ASCII characters, without user
    and fragment. None means pull. Pub/Sub: push has no exactly-once delivery.
    """
    without = "a subscription that is pulled from"
    if not is_given(config, PushConfig, "push_config", without):
        return None
    endpoint = _checked_endpoint(config.push_endpoint)
    _check_attributes(config.attributes)
    _check_no_wrapper(config.no_wrapper)
    _check_oidc_token(config.oidc_token)
    if enable_exactly_once_delivery:
        raise InvalidArgument(
            f"push_config.push_endpoint: {endpoint!r} together with enable_exactly_once_delivery, "
            "which works only where messages are pulled; either of them is accepted"
        )
    return PushConfig(endpoint, dict(PUSH_ATTRIBUTES), config.no_wrapper, config.oidc_token)


def _check_attributes(attributes: Mapping[str, str]) -> None:
    if not isinstance(attributes, Mapping) or not attributes.items() <= PUSH_ATTRIBUTES.items():
        raise InvalidArgument(
            f"push_config.attributes: {attributes!r}; 'x-goog-version': 'v1' is accepted, or none"
        )


def _check_no_wrapper(no_wrapper: NoWrapper | None) -> None:
    if is_given(no_wrapper, NoWrapper, "push_config.no_wrapper", "JSON"):
        check_switch(no_wrapper.write_metadata, "push_config.no_wrapper.write_metadata")


def _check_oidc_token(oidc_token: OidcToken | None) -> None:
    if not is_given(oidc_token, OidcToken, "push_config.oidc_token", "no token"):
        return
    email, audience = oidc_token.service_account_email, oidc_token.audience
    is_address = isinstance(email, str) and _EMAIL.fullmatch(email)
    if not is_address or len(email) > _LONGEST_EMAIL:
        raise InvalidArgument(
            f"push_config.oidc_token.service_account_email: {email!r} is not an address; "
            "account@domain is accepted"
        )
    if not isinstance(audience, str) or len(audience) > _LONGEST_AUDIENCE:
        raise InvalidArgument(
            f"push_config.oidc_token.audience: {audience!r}; text of at most {_LONGEST_AUDIENCE:,} "
            "characters is accepted"
        )
    if not audience.isprintable():
        raise InvalidArgument(
            f"push_config.oidc_token.audience: {audience!r} has control characters; text without "
            "them is accepted"
        )


def _checked_endpoint(url: str) -> str:
    fault = _fault_of(url)
    if fault is not None:
        raise InvalidArgument(
            f"push_config.push_endpoint: {url!r} {fault}; an absolute http:// or https:// URL is "
            f"accepted, of at most {MAX_ENDPOINT_CHARACTERS} ASCII characters, without user name "
            "and fragment"
        )
    return url


def _fault_of(url: str) -> str | None:
    """Return the fault of the URL of an endpoint, or None."""
    if not isinstance(url, str):
        return "is not a string"
    if len(url) > MAX_ENDPOINT_CHARACTERS:
        return f"has {len(url)} characters"
    if not all("!" <= character <= "~" for character in url) or "\\" in url:
        return "has characters that a URL cannot have"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"is not a URL ({error})"
    if parts.scheme not in ("http", "https"):
        return "is neither http:// nor https://"
    if not parts.hostname or port == 0:
        return "has no host and port that can be connected to"
    if "@" in parts.netloc:
        return "has a user name or a password"
    return "has a fragment" if "#" in url else None
