"""Policy files for tests, and the tokens that stand in them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

TOPIC = "projects/p/topics/any"
SUBSCRIPTION = "projects/p/subscriptions/any"
SNAPSHOT = "projects/p/snapshots/any"
SCHEMA = "projects/p/schemas/any"
ANN, BOB, JOB = "user:ann@example.com", "user:bob@example.com", "serviceAccount:job@example.com"
ADMIN = "user:admin@example.com"
AGENT = "serviceAccount:service-p@gcp-sa-pubsub.iam.gserviceaccount.com"


def token_of(member: str) -> str:
    return f"token of {member}".replace(" ", "-").replace("@", "-").replace(":", "-")


def token(member: str, **more: Any) -> dict[str, Any]:
    """Return the entry of the token of a member."""
    return {"sha256": digest(token_of(member)), "member": member, **more}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def bound(role: str, *members: str) -> dict[str, Any]:
    return {"role": f"roles/{role}", "members": list(members)}


def document(*bindings: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a policy file in which some members have tokens, and an admin may do everything."""
    by_resource: dict[str, list[Any]] = {"*": [bound("pubsub.admin", ADMIN)]}
    for resource, binding in bindings:
        by_resource.setdefault(resource, []).append(binding)
    tokens = [token(each) for each in (ADMIN, ANN, BOB, JOB)]
    return {"tokens": tokens, "bindings": by_resource, **more}


def write(path: Path, *bindings: tuple[str, dict[str, Any]], **more: Any) -> Path:
    path.write_text(json.dumps(document(*bindings, **more)))
    return path
