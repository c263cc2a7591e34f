"""Seeded bugs of ``server/serve.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_loops.py",
    "tests/unit/test_push_tokens.py",
    "tests/unit/test_server_odd_calls.py",
    "tests/unit/test_server_answers.py",
    "tests/unit/test_server_shutdown.py",
    "tests/unit/test_server_access_changes.py",
    "tests/unit/test_server_command.py",
    "tests/unit/test_rest_transcripts.py",
    "tests/unit/test_server_addresses.py",
)

BUGS = (
    Bug(
        "hangup-kills-a-server",
        "A server whose terminal ends is killed with what it has not written.",
        "elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:",
        "elif False:",
    ),
    Bug(
        "nohup-does-not-keep-a-server",
        "A server under nohup ends with its terminal.",
        "elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:",
        "elif True:",
    ),
    Bug(
        "request-that-grpc-refuses",
        "A request that is too large is refused by gRPC, with a code that clients try again.",
        "LARGEST_READ = 128 * 1024 * 1024",
        "LARGEST_READ = 16 * 1024 * 1024",
    ),
    Bug(
        "streams-of-an-ending-server-are-cut",
        "A server that ends while it writes a table cuts its streams after ten seconds.",
        "await asyncio.gather(self._writers.stop(), self._hub.stop())",
        "[await each.stop() for each in (self._writers, self._hub)]",
    ),
    Bug(
        "issuer-that-was-asked-for",
        "Tokens of pushes name the address of the server, whatever issuer was asked for.",
        "self._settings.push_issuer or self._address(port)",
        "self._address(port)",
    ),
    Bug(
        "health-of-few-services",
        "A health check of the service of IAM policies ends with NOT_FOUND.",
        'for service in ("", *grpc_services.SERVICES):',
        'for service in ("", grpc_services.PUBLISHER, grpc_services.SUBSCRIBER):',
    ),
    Bug(
        "policy-is-not-read-at-a-hangup",
        "A hangup ends a server that has a policy file.",
        "            loop.add_signal_handler(signal.SIGHUP, reload)",
        "            loop.add_signal_handler(signal.SIGHUP, told_to_end.set)",
    ),
    Bug(
        "takeover-that-failed-is-not-tried-again",
        "A server takes nothing over any more after one failure.",
        '            except Exception:\n                logger.exception("what a server has left',
        '            except KeyError:\n                logger.exception("what a server has left',
    ),
    Bug(
        "a-certificate-of-local-names-alone",
        "A server with TLS on this machine refuses the name of its certificate.",
        "local_names_only=tls is None and is_loopback",
        "local_names_only=is_loopback",
    ),
)
