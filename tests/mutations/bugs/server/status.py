"""Seeded bugs of ``server/status.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_replies.py",
    "tests/unit/test_server_wire.py",
    "tests/unit/test_server_wire_outputs.py",
    "tests/unit/test_rest_transcripts.py",
    "tests/unit/test_server_values.py",
)

BUGS = (
    Bug(
        "more-names-than-fit",
        "An error names more ack ids than clients take metadata.",
        "if room < 0:",
        "if room < -10_000:",
    ),
    Bug(
        "unnamed-tried-for-ever",
        "Where many ack ids failed and few did not, all are tried again.",
        "(_fits(again) and not _fits(lost))):",
        "False):",
    ),
    Bug(
        "unnamed-success-is-a-failure",
        "An ack id that succeeded, and is not named, is taken for one that failed.",
        "(_fits(again) and not _fits(lost))):",
        "not _fits(lost)):",
    ),
    Bug(
        "message-too-long-to-send",
        "A message of many characters that gRPC escapes does not fit into a reply.",
        "while len(quote(text, safe=_AS_THEY_ARE)) > _MESSAGE_BYTES:",
        "while len(text) > _MESSAGE_BYTES:",
    ),
    Bug(
        "id-that-no-reply-could-name",
        "An ack id of megabytes is taken, and no reply can name it.",
        "if size > LONGEST_ACK_ID:",
        "if size > LONGEST_ACK_ID * 1_000_000:",
    ),
    Bug(
        "storage-that-refuses-is-told-as-a-fault-of-the-caller",
        "Expired keys of a server end the streams of all clients for good.",
        "if isinstance(error, StorageRefused):",
        "if isinstance(error, InvalidArgument):",
    ),
    Bug(
        "final-failures-crowded-out",
        "Ack ids to be tried again take the room of those that have failed for good.",
        "self.named = _fitting({**lost, **failures})",
        "self.named = _fitting(failures)",
    ),
    Bug(
        "a-fault-of-the-server-is-not-logged",
        "An error that is not the library's own is an answer to a client, and in no log.",
        "    if not isinstance(error, PubSubError):\n",
        "    if isinstance(error, OSError):\n",
    ),
    Bug(
        "ack-id-length-in-characters",
        "The length of an ack ID is counted in characters.",
        "        size = len(each.encode())\n        if size > LONGEST_ACK_ID",
        "        size = len(each)\n        if size > LONGEST_ACK_ID",
    ),
    Bug(
        "refused-storage-is-a-precondition",
        "A storage that refuses the server is told as a fault of its client.",
        """    if isinstance(error, StorageRefused):
        return Unavailable.code
""",
        "",
    ),
    Bug(
        "a-failure-counts-itself-alone",
        "A failure of ack ids counts the failed ones in place of all.",
        "asked = dict.fromkeys([*of, *failures])",
        "asked = dict.fromkeys(failures)",
    ),
)
