"""Calls that Google's emulator answers otherwise than a server does, and why that is so."""

from __future__ import annotations

LIMIT = "the emulator does not keep this limit, which the API's comments state"
ABSENT = "the emulator does not have the method"
CODE = "the emulator has another code than the API's comments and Google's clients go by"
LAX = "the emulator takes what the API's comments exclude"

DIFFERENCES = {
    "ListTopics: negative page": LIMIT,
    "ListTopics: bad token": LIMIT,
    "ListTopics: bad project": CODE,
    "UpdateTopic: labels": "the emulator changes no labels",
    "UpdateSubscription: labels": "the emulator changes no labels",
    "Publish: attribute that begins with goog": LIMIT,
    "Publish: empty attribute key": LIMIT,
    "Publish: long attribute key": LIMIT,
    "Publish: long attribute value": LIMIT,
    "Publish: 101 attributes": LIMIT,
    "Publish: long key": LIMIT,
    "Publish: 10,000,001 bytes": LIMIT,
    "Publish: 11,000,000 bytes of two": "the emulator takes so much, or does not answer",
    "CreateSubscription: deadline of 9": LIMIT,
    "CreateSubscription: bad filter": "the emulator has no filters",
    "CreateSubscription: long filter": "the emulator has no filters",
    "CreateSubscription: dead letters to nothing": CODE,
    "CreateSubscription: 4 attempts": CODE,
    "CreateSubscription: 101 attempts": CODE,
    "CreateSubscription: expires in an hour": LIMIT,
    "CreateSubscription: push": "the emulator tells no x-goog-version, which is always told",
    "CreateSubscription: push exactly once": LAX,
    "ListTopicSubscriptions: absent": LAX,
    "UpdateSubscription: bad deadline": LIMIT,
    "ModifyAckDeadline: 601 seconds": LIMIT,
    "Pull: -1 messages": LIMIT,
    "Pull: pushed": LAX,
    "UpdateSnapshot: labels": ABSENT,
    "UpdateSnapshot: no mask": ABSENT,
    "ListSchemas: all": "the emulator takes no view for FULL, Pub/Sub for BASIC",
    "GetIamPolicy: topic": ABSENT,
    "GetIamPolicy: absent": ABSENT,
    "TestIamPermissions: topic": ABSENT,
    "DetachSubscription: there": ABSENT,
    "DetachSubscription: absent": ABSENT,
    "Pull: detached": ABSENT,
    "GetSubscription: of a deleted topic": "the emulator has taken another deadline and no labels",
}
"""By the names of the calls."""
