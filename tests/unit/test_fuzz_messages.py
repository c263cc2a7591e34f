"""Messages from anywhere: published as they are, or refused before anything is written."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta.policy import messages as rules
from pubsub_delta.policy.messages import as_message
from pubsub_delta.resources import Message
from tests.unit.hostile import is_refusal, outcome, texts, values

long_texts = st.one_of(
    texts,
    st.sampled_from(
        [
            "goog",
            "google",
            "Goog",
            "googclient_tracestate",
            "",
            "k" * 256,
            "k" * 257,
            "é" * 513,
            "v" * 1025,
        ]
    ),
)
mappings = st.one_of(
    st.dictionaries(long_texts, long_texts, max_size=3),
    st.sampled_from([100, 101]).map(lambda count: {f"k{n}": "" for n in range(count)}),
    values,
)
messages = st.builds(Message, st.one_of(st.binary(max_size=4), values), mappings, long_texts)


def reserved(key: str) -> bool:
    free = {"googclient_traceparent", "googclient_tracestate"}
    return key.casefold().startswith("goog") and key not in free


def fits(message: Message) -> bool:
    """Tell whether a message keeps Pub/Sub's rules, said once more and differently."""
    pairs = list(message.attributes.items())
    return (
        (bool(message.data) or bool(pairs))
        and len(pairs) <= 100
        and all(0 < len(key.encode()) <= 256 and not reserved(key) for key, _ in pairs)
        and all(len(value.encode()) <= 1024 for _, value in pairs)
        and len(message.ordering_key.encode()) <= 1024
    )


@given(st.one_of(messages, values))
@example(Message(b"x", {"a": "\ud800"}))
@example(Message(b"x", {}, "\udfff"))
@example(Message(None))  # type: ignore[arg-type]
@example("\ud800")
def test_a_message_is_published_as_it_is_or_refused(value: Any) -> None:
    told = outcome(lambda: as_message(value, 3))
    if isinstance(told, Message):
        assert fits(told)
        if isinstance(value, Message):
            assert told == value
        else:
            assert told.data == (value.encode() if isinstance(value, str) else value)
    else:
        assert str(told).startswith("messages[3]")
        if str(told).endswith("nothing was published"):
            assert isinstance(value, (Message, str, bytes))
            assert "Message(" not in str(told), "an error shows no payload"
            return
        held = [value]
        if isinstance(value, Message):
            held += [value.data, value.attributes, value.ordering_key]
            if isinstance(value.attributes, dict):
                held += [*value.attributes, *value.attributes.values()]
                held += [{key: each} for key, each in value.attributes.items()]
        assert is_refusal(told, *held)


@given(
    st.binary(max_size=4),
    st.dictionaries(long_texts, long_texts, max_size=3),
    long_texts,
)
def test_what_fits_is_never_refused(data: bytes, attributes: dict[str, str], key: str) -> None:
    message = Message(data, attributes, key)
    text = "".join([key, *attributes, *attributes.values()])
    if text.encode("utf-8", "ignore").decode() == text:
        kept = outcome(lambda: as_message(message, 0)) == message
        assert kept == fits(message) == (rules.broken_rule(message) is None)
