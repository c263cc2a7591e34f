"""Bugs of who may do what: tokens, roles, stored policies, open streams, forwarding."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ACCESS = "policy/access.py"
_FILES = "policy/access_files.py"
_PERMISSIONS = "policy/permissions.py"
_CALLERS = "server/authentication.py"
_SERVER = "server/authorization.py"
_STORED = "server/stored_policies.py"
_POLICY_FILE = "server/policy_files.py"
_KEYS = "server/push_keys.py"

BUGS_OF_ACCESS = (
    Bug(
        "project-without-its-resources",
        "What is bound to a project does not hold on its resources.",
        _ACCESS,
        "    if project != resource:\n        yield project\n",
        "",
    ),
    Bug(
        "condition-taken-for-met",
        "A binding with a condition grants, whatever the condition says.",
        _ACCESS,
        "binding.condition is None\n            and permission",
        "permission",
    ),
    Bug(
        "domain-has-service-accounts",
        "Service accounts are among the members of a domain.",
        _ACCESS,
        'if kind == "user" and "@" in name:',
        'if "@" in name:',
    ),
    Bug(
        "addresses-by-their-case",
        "A member is not known by an address in upper case.",
        _ACCESS,
        'return f"{kind}:{name.lower()}" if colon',
        'return f"{kind}:{name}" if colon',
    ),
    Bug(
        "conditional-policy-stored",
        "SetIamPolicy stores bindings whose conditions nobody evaluates.",
        _ACCESS,
        "        if binding.condition is not None:\n            raise Unimplemented(",
        "        if binding.condition is ...:\n            raise Unimplemented(",
    ),
    Bug(
        "condition-in-a-file-passed-over",
        "A condition in a policy file is refused as an unknown name, and not by what it is.",
        _FILES,
        'if isinstance(given, Mapping) and "condition" in given:',
        'if isinstance(given, Mapping) and "conditions" in given:',
    ),
    Bug(
        "unknown-names-in-a-file-pass",
        "A misspelt name in a policy file, such as expired, says nothing.",
        _FILES,
        "if missing or (accepted and unknown):",
        "if missing:",
    ),
    Bug(
        "attached-without-the-topics-permission",
        "Whoever may create subscriptions may attach them to any topic.",
        _PERMISSIONS,
        '        _on("topics.attachSubscription", "topic"),\n',
        "",
    ),
    Bug(
        "seek-to-any-snapshot",
        "A seek to a snapshot needs no permission on the snapshot.",
        _PERMISSIONS,
        '(*_CONSUME, _also("snapshots.seek", "snapshot"))',
        "_CONSUME",
    ),
    Bug(
        "dead-letter-topics-probed",
        "CreateSubscription tells whether a topic exists that the caller may not see.",
        _PERMISSIONS,
        '        _also("topics.get", _DEAD_LETTERS),\n',
        "",
    ),
    Bug(
        "detached-by-the-project",
        "Who detaches is decided by the subscription's project, not by its topic.",
        _SERVER,
        "return needed.resource if found is None or found.topic == DELETED_TOPIC else found.topic",
        "return needed.resource",
    ),
    Bug(
        "policy-never-asked",
        "Every caller with a token may do everything by unary calls.",
        "server/interceptors.py",
        "        await access.check(method, request, context)\n",
        "",
    ),
    Bug(
        "expired-token-taken",
        "A token is accepted for ever, whenever it expires.",
        _CALLERS,
        "compare_digest(each.sha256, digest) and is_valid:",
        "compare_digest(each.sha256, digest):",
    ),
    Bug(
        "jwt-for-somebody-else-taken",
        "A JWT that was made for another audience is accepted.",
        _CALLERS,
        'aud={"essential": True, "value": issuer.audience},',
        "",
    ),
    Bug(
        "unverified-email-taken",
        "A JWT names its member by an address that the issuer has not verified.",
        _CALLERS,
        'if name == "email" and claims.get("email_verified", True) is not True:',
        'if name == "":',
    ),
    Bug(
        "open-stream-never-checked",
        "A stream that is open goes on when its role is taken.",
        _SERVER,
        "if needed and uptime() >= due:",
        "if needed and due and uptime() >= due:\n                    self._stream_check = 1e9",
    ),
    Bug(
        "stream-ends-with-its-token",
        "A stream ends when the token expires with which it was opened.",
        _SERVER,
        "self._file.loaded.authenticator.authenticate(authorization, opened)",
        "self.authenticate(authorization)",
    ),
    Bug(
        "stored-policy-in-force-later",
        "A policy that this server stores is in force seconds later.",
        _SERVER,
        "        if method in _CHANGE_POLICIES:\n            self._stored.forget()\n",
        "        return\n",
    ),
    Bug(
        "old-read-kept-as-new",
        "A policy that was read before it changed is taken for the one after.",
        _STORED,
        "if last is None or last.generation != self._generation:",
        "if last is None:",
    ),
    Bug(
        "policies-read-once",
        "What other processes store of policies is never noticed.",
        _STORED,
        "if self._uptime() - last.at < CACHE_SECONDS else None",
        "if self._uptime() - last.at < 1e9 else None",
    ),
    Bug(
        "names-twice-in-a-file",
        "Of two lists of bindings in a policy file the first is forgotten without a word.",
        _POLICY_FILE,
        "if twice:",
        "if len(twice) > 1:",
    ),
    Bug(
        "issuers-keys-never-read-again",
        "New keys of an issuer are not read before the policy file changes.",
        _POLICY_FILE,
        "self._files, self._last_signature = (self._path, *keys), (before, *map(_stamp, keys))",
        "self._files, self._last_signature = (self._path,), (before,)",
    ),
    Bug(
        "forwarded-without-the-subscribers-role",
        "Dead letters are forwarded where the service account may not acknowledge.",
        _SERVER,
        '("pubsub.subscriptions.consume", subscription.name, "roles',
        '("pubsub.topics.publish", topic, "roles',
    ),
    Bug(
        "attempts-counted-without-roles",
        "Delivery attempts are counted where nothing may be forwarded.",
        "delivery/consuming.py",
        "        found = found.without_dead_letters()\n",
        "        pass\n",
    ),
    Bug(
        "forwarding-goes-on-without-roles",
        "What another process decided to forward is forwarded without the roles for it.",
        "delivery/consuming.py",
        "forwarding = forward and bool(",
        "forwarding = bool(",
    ),
    Bug(
        "expired-snapshots-policy-in-force",
        "The policy of an expired snapshot holds for the next one of its name.",
        "tables/registry/iam_policies.py",
        "if row[COLUMN] is not None and _is_there(collection, row, now)",
        "if row[COLUMN] is not None",
    ),
    Bug(
        "actors-for-any-account",
        "Whoever may change a subscription may have tokens of any service account sent anywhere.",
        _PERMISSIONS,
        '        _as(f"subscription.{_EMAIL}", "push_config"),\n',
        "",
    ),
    Bug(
        "tokens-of-others-sent-elsewhere",
        "Whoever may change a subscription may have its tokens sent to an endpoint of his own.",
        _PERMISSIONS,
        'return any(path.startswith(f"{needed.within_mask}.") for path in paths)',
        "return False",
    ),
    Bug(
        "new-key-signs-before-it-is-known",
        "A key signs as soon as it is made, when receivers have not read it yet.",
        "policy/signing_keys.py",
        "if each <= now - AHEAD]",
        "if each <= now]",
    ),
    Bug(
        "old-key-taken-back-at-once",
        "A key is published no more while tokens are about that it has signed.",
        "policy/signing_keys.py",
        "if now < newer + AHEAD + KEPT:",
        "if now < newer + AHEAD:",
    ),
    Bug(
        "keys-readable-by-all",
        "Everybody may read the keys that sign tokens.",
        _KEYS,
        "os.O_EXCL, 0o600)",
        "os.O_EXCL, 0o644)",
    ),
    Bug(
        "keys-of-each-server",
        "A server goes on with the keys that it has read first.",
        _KEYS,
        "if stamp is not None and stamp != self._last_stamp:",
        "if stamp is not None and self._last_stamp is None:",
    ),
    Bug(
        "private-keys-published",
        "The private parts of the keys are served to everybody.",
        _KEYS,
        '{**each.key.as_dict(private=False), "kid": each.kid}',
        '{**each.key.as_dict(private=True), "kid": each.kid}',
    ),
    Bug(
        "token-for-another-endpoint",
        "A token that was signed for one endpoint is sent to others.",
        "server/push_tokens.py",
        "last = self._signed.get(about)",
        "last = next(iter(self._signed.values()), None)",
    ),
    Bug(
        "authorization-by-an-attribute",
        "A publisher sets the Authorization header of pushes by an attribute.",
        "server/push_requests.py",
        "|authorization|host|",
        "|host|",
    ),
    Bug(
        "unsigned-push-is-a-failed-delivery",
        "Where no token can be signed, messages fail, and become dead letters.",
        "server/pushing.py",
        "            self.dispatcher.leaser.give_back([delivery.received.ack_id])\n",
        "            self.dispatcher.modify_ack_deadline([delivery.received.ack_id], 0)\n",
    ),
)
