"""Seeded bugs of an eighth outsider in the server, chosen without a look at tests or list."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_EIGHTH_OUTSIDER_AT_SERVERS = (
    Bug(
        "pause-of-push-wakes-nobody",
        "After a pause of push delivery the dispatcher is not told that there is room again.",
        "server/pushing.py",
        "        self._consumer.is_paused = False\n"
        "        self.dispatcher.poll()  # failed messages are available again",
        "        self._consumer.is_paused = False",
    ),
    Bug(
        "ended-pusher-with-requests-is-dropped",
        "Of the pushers that have ended, those with open requests are forgotten.",
        "server/pushing.py",
        "(*self._ended, pusher) if each.has_requests]",
        "(*self._ended, pusher) if not each.has_requests]",
    ),
    Bug(
        "push-has-two-content-types",
        "An attribute content-type in lower case does not replace the header of bare data.",
        "server/push_requests.py",
        'if not any(name.lower() == "content-type" for name, _ in metadata):',
        'if not any(name == "Content-Type" for name, _ in metadata):',
    ),
    Bug(
        "push-host-leaves-out-other-ports",
        "The Host header leaves out port 443 of an http URL, and 80 of an https one.",
        "server/push_endpoint.py",
        'parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme))',
        "parts.port in (None, 80, 443)",
    ),
    Bug(
        "broken-body-is-no-answer",
        "A success whose body breaks off counts as no response.",
        "server/push_endpoint.py",
        "            return codes[0] if codes else UNREACHABLE",
        "            return UNREACHABLE",
    ),
    Bug(
        "publish-of-exactly-most-bytes-is-refused",
        "A publish request of exactly 10,000,000 bytes is refused.",
        "server/publisher_service.py",
        "        if size > MOST_BYTES:",
        "        if size >= MOST_BYTES:",
    ),
    Bug(
        "pull-that-times-out-stays-a-consumer",
        "A pull without messages in time stays among the consumers, and messages are sent to it.",
        "server/subscriber_service.py",
        "        raise\n"
        "    finally:\n"
        "        dispatcher.leave(consumer)\n"
        "    return given.result()",
        "        raise\n    return given.result()",
    ),
    Bug(
        "pull-waits-until-its-clients-deadline",
        "A pull waits as long as its client does, so its empty response comes too late.",
        "server/subscriber_service.py",
        "patience = min(patience, remaining * 0.8)",
        "patience = min(patience, remaining)",
    ),
    Bug(
        "revisions-are-listed-in-full",
        "A list of revisions has their definitions, though its view is not given.",
        "server/schema_service.py",
        "view = schema_wire.FULL if request.view == schema_wire.FULL else BASIC",
        "view = BASIC if request.view == BASIC else schema_wire.FULL",
    ),
    Bug(
        "revision-in-the-name-gets-another",
        "The deprecated revision_id is added to a name that has a revision.",
        "server/schema_service.py",
        'if "@" not in name and request.revision_id:',
        "if request.revision_id:",
    ),
    Bug(
        "ack-id-length-in-characters",
        "The length of an ack ID is counted in characters.",
        "server/status.py",
        "        size = len(each.encode())\n        if size > LONGEST_ACK_ID",
        "        size = len(each)\n        if size > LONGEST_ACK_ID",
    ),
    Bug(
        "policies-forgotten-after-success-only",
        "Cached policies are kept after a call that failed, though it may have written.",
        "server/interceptors.py",
        "            return await work(request, context)\n"
        "        except DeadLetterTopicInUse as error:\n"
        "            raise await access.named_to(context, error) from None\n"
        "        finally:  # a call that failed may have written\n"
        "            access.done(method)",
        "            response = await work(request, context)\n"
        "        except DeadLetterTopicInUse as error:\n"
        "            raise await access.named_to(context, error) from None\n"
        "        access.done(method)\n"
        "        return response",
    ),
    Bug(
        "oldest-links-are-kept",
        "Of too many links of a commit the oldest are kept, and the newest dropped.",
        "server/otel.py",
        "        del links[:-MOST_LINKS]",
        "        del links[MOST_LINKS:]",
    ),
    Bug(
        "general-otlp-protocol-wins",
        "OTEL_EXPORTER_OTLP_PROTOCOL overrides the variable of the signal.",
        "server/otel.py",
        '        f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL",\n'
        '        environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),',
        '        "OTEL_EXPORTER_OTLP_PROTOCOL",\n'
        '        environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "grpc"),',
    ),
    Bug(
        "otlp-by-http-is-encrypted",
        "An http:// endpoint of OTLP by gRPC is asked with TLS.",
        "server/otel.py",
        '"insecure": not endpoint.startswith("https:")',
        '"insecure": not endpoint.startswith("http")',
    ),
    Bug(
        "nothing-wakes-after-a-seek",
        "Requests that came during a seek wait for the next tick.",
        "server/dispatcher.py",
        "            self.leaser.acks.release()\n            self._woken.set()",
        "            self.leaser.acks.release()",
    ),
    Bug(
        "stopping-server-nacks-the-overdue",
        "At its end a server nacks what is at its deadline: zero seconds.",
        "policy/outstanding.py",
        "max(-((now - end) // _SECOND), 1)",
        "max(-((now - end) // _SECOND), 0)",
    ),
    Bug(
        "journal-without-its-lock",
        "A server that could not take its lock keeps journals all the same.",
        "server/lease_journals.py",
        'when this one is gone: %s", error)\n            self._own = None',
        'when this one is gone: %s", error)',
    ),
    Bug(
        "taken-over-messages-wake-nobody",
        "Messages of a dead server are available, and the dispatcher is not told.",
        "server/hub.py",
        "        if running is not None:\n            running.poll()\n\n    async def _refresh",
        "\n    async def _refresh",
    ),
    Bug(
        "detached-table-subscriptions-are-written",
        "A server starts a writer for a detached table subscription.",
        "server/backend.py",
        '        found = self._tables.registry.subscriptions_to("table_name")\n'
        "        return [each for each in found if not each.detached]",
        '        return self._tables.registry.subscriptions_to("table_name")',
    ),
    Bug(
        "unverified-email-as-text",
        "A token whose email_verified is the text false names its email.",
        "server/authentication.py",
        'claims.get("email_verified", True) is not True',
        'claims.get("email_verified", True) is False',
    ),
    Bug(
        "jwks-with-one-shared-key",
        "A JWKS with a shared key is accepted if it has a public one, too.",
        "server/authentication.py",
        'any(key.key_type == "oct" for key in found.keys)',
        'all(key.key_type == "oct" for key in found.keys)',
    ),
    Bug(
        "repeated-header-replaces",
        "Of a repeated header the last value counts alone.",
        "server/rest/connection.py",
        'headers[key] = f"{headers[key]}, {text}" if key in headers else text',
        "headers[key] = text",
    ),
    Bug(
        "trace-state-is-not-passed-on",
        "The header tracestate of a REST request is dropped.",
        "server/rest/gateway.py",
        '"traceparent", "tracestate", "x-goog',
        '"traceparent", "x-goog',
    ),
)
